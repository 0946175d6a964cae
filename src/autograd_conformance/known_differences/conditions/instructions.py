"""Conditions on the failing instruction, on the instructions before it, and on the operands of an op."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import get_args

from autograd_conformance.known_differences import readers
from autograd_conformance.known_differences.condition import Count, Flag, ProgramFlag, Word
from autograd_conformance.known_differences.conditions.calls import CALLS, upstream_of
from autograd_conformance.ops.catalogue import APPLIED
from autograd_conformance.ops.rows.domains import ANY
from autograd_conformance.ops.tables import OPS, VIEWS
from autograd_conformance.programs.language import (
    EFFECTS,
    INSTRUCTIONS,
    MODES,
    Apply,
    DetachInPlace,
    Hook,
    InPlace,
    Instruction,
    Leaf,
    Notation,
    Program,
    ReadGrad,
    Ref,
    SetRequiresGrad,
    Step,
)
from autograd_conformance.programs.operands import grouped, operands
from autograd_conformance.reference.staging.derivatives import array
from autograd_conformance.rules.violations.violation import Violation

USUAL = ("leaf", "backward")
"""Words of instructions that occur in almost every program, and so do not separate a case from others."""


class ZeroOperand(Count):
    """Position of an operand of the entry's op that may contain a zero, in at least one use of the op: the operand is a
    leaf with a zero, or a computed value.
    """

    key, old_key, about_op = "zero_operand", "zero", "it is the position of an operand of the op"
    expects, names_case, by_program = "the number of an operand, from 0", True, True

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        at = self.value
        uses = [step.args[at : at + 1] for step in program if isinstance(step, Apply) and step.op == op]
        made = (program[ref.at] for refs in uses for ref in refs)
        return any(not isinstance(step, Leaf) or 0 in step.value.data for step in made)


class EdgeOperand(Count):
    """Position of an operand of the entry's op that is none of those that programs draw for it, such as a singular
    matrix for a determinant, in at least one use of the op: the operand is a leaf.
    """

    key, about_op = "edge_operand", "it is the position of an operand of the op"
    expects, names_case, by_program = "the number of an operand, from 0", True, True

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        at = self.value
        uses = [step.args[at : at + 1] for step in program if isinstance(step, Apply) and step.op == op]
        made = (program[ref.at] for refs in uses for ref in refs)
        domain = OPS[op].domain(at) if op in OPS else ANY
        return any(isinstance(step, Leaf) and not domain.holds(array(step.value)) for step in made)


class After(Word):
    """An earlier instruction is this op, this optimizer step, this hook (`hook raise`), or has this word (`grad`,
    `assign`).
    """

    key, by_program = "after", True
    expects = "an op, an instruction's word, a hook's effect, such as 'hook raise', or an optimizer with settings"

    @staticmethod
    def read(value: object) -> str:
        words = {*APPLIED, *get_args(Notation), *(f"hook {effect}" for effect in EFFECTS)}
        return value if isinstance(value, str) and value in words else readers.optimizer_step(value)

    @property
    def names_case(self) -> bool:
        return self.value not in USUAL

    @classmethod
    def values_of(cls, program: Program, violation: Violation) -> Iterable[str]:
        found = {word for step in program.instructions[: violation.at] for word in _words(step)}
        return found.difference(USUAL)

    @classmethod
    def values_in(cls, program: Program) -> Iterable[str]:
        return {word for step in program for word in _words(step)}.difference(USUAL)

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        what = self.value
        return any(
            INSTRUCTIONS[type(step)].notation == what
            or (isinstance(step, Hook) and f"hook {step.effect}" == what)
            or (isinstance(step, Apply) and step.op == what)
            or _is_step(step, what)
            for step in program.instructions[: violation.at]
        )


class Call(Word):
    """The failing instruction is a call with this word: `backward` or `grad`."""

    key, expects, by_program = "call", "backward or grad", True
    read = staticmethod(readers.one_of([str(INSTRUCTIONS[each].notation) for each in CALLS]))

    @classmethod
    def values_of(cls, program: Program, violation: Violation) -> Iterable[str]:
        failing = program[violation.at]
        return (str(INSTRUCTIONS[type(failing)].notation),) if isinstance(failing, CALLS) else ()

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        return self.value == INSTRUCTIONS[type(program[violation.at])].notation


class Under(Word):
    """The failing instruction is in a block of this mode, such as `no_grad` or `autocast`, perhaps in inner blocks."""

    key, names_case, by_program = "under", True, True
    expects = f"a mode: {', '.join(MODES)}"
    read = staticmethod(readers.one_of(MODES))

    @classmethod
    def values_of(cls, program: Program, violation: Violation) -> Iterable[str]:
        return dict.fromkeys(program.mode(violation.at))

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        return self.value in program.mode(violation.at)


class OptimizerStep(Word):
    """The failing instruction is a step of an optimizer, and one of its leaves has all these settings, in the notation
    of programs. `own:lr` means that the leaf's parameter group sets lr itself, and `no:fused` that nothing sets fused.
    """

    key, names_case, by_program = "step", True, True
    expects = "an optimizer with settings, such as 'sgd fused=True'"
    read = staticmethod(readers.optimizer_step)

    @classmethod
    def values_of(cls, program: Program, violation: Violation) -> Iterable[str]:
        failing = program[violation.at]
        return (failing.optimizer,) if isinstance(failing, Step) else ()

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        return _is_step(program[violation.at], self.value)


class MakesView(Flag):
    """The failing instruction applies an op that makes a view, such as `transpose`; if it applies no op, some op of the
    program makes a view. In a failing region (instructions that run as one compiled or checkpointed function), the op
    is the one that computed the value in question, or any op of a region that raised.
    """

    key, old_key = "makes_view", "views"

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        subject, region = violation.subject, violation.regions.get(violation.at, ())
        failing = program[violation.at if subject is None or subject.at not in region else subject.at]
        inside = [program[at] for at in region] if subject is None else []
        steps = inside or ((failing,) if isinstance(failing, Apply) else program)
        return any(isinstance(step, Apply) and step.op in VIEWS for step in steps)


class OpRepeated(Flag):
    """The wrong value was computed by an op that is applied twice to the same operands with the same attributes, up to
    the failing instruction.
    """

    key, old_key = "op_repeated", "repeated"

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        if violation.subject is None:
            return False
        made = program[violation.subject.at]
        return isinstance(made, Apply) and program.instructions[: violation.at + 1].count(made) > 1


class OperandsShareLeaf(ProgramFlag):
    """An op before the failing instruction has two operands that are the same leaf or were computed from the
    same leaf.
    """

    key, old_key = "operands_share_leaf", "from_one"

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        for step in program.instructions[: violation.at]:
            if isinstance(step, Apply):
                origins = [upstream_of(program, [arg]) & {*program.leaves} for arg in step.args]
                if sum(map(len, origins)) > len(set().union(*origins)):
                    return True
        return False


class OperandTwice(ProgramFlag):
    """An op up to and including the failing instruction has the same value as two of its operands."""

    key = "operand_twice"

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        steps = program.instructions[: violation.at + 1]
        return any(isinstance(step, Apply) and len({*step.args}) < len(step.args) for step in steps)


class RequiresGradToggled(ProgramFlag):
    """The `requires_grad` of a leaf, or of a gradient that a leaf held, is set before the failing instruction, after an
    op has used it. A detach in place sets it too.
    """

    key, old_key, covers_gradients = "requires_grad_toggled", "switched", True

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        used: set[Ref] = set()
        for step in program.instructions[: violation.at]:
            if isinstance(step, (SetRequiresGrad, DetachInPlace)):
                made = program[step.target.at]
                if step.target in used and isinstance(made, (Leaf, ReadGrad)):
                    return True
            used.update(operands(step) if isinstance(step, (Apply, InPlace)) else ())
        return False


def _is_step(step: Instruction, described: str) -> bool:
    """Returns whether an instruction is a step of the described optimizer, such as "sgd fused=True", and one of its
    leaves has all these settings.
    """
    optimizer, *settings = described.split()
    if not isinstance(step, Step) or step.optimizer != optimizer:
        return False
    owned = {f"own:{key}" for _, own in step.groups for key, _ in own}
    unset = {each.removeprefix("no:") for each in settings if each.startswith("no:")}
    wanted = {each for each in settings if not each.startswith("no:")}
    return any(
        owned.union(f"{key}={value!r}" for key, value in given).issuperset(wanted) and unset.isdisjoint(dict(given))
        for _, given in grouped(step)
    )


def _words(step: Instruction) -> Iterator[str]:
    """Yields the text that the key `after` compares with an instruction: an op, "hook raise", an optimizer, or the
    instruction's word.
    """
    match step:
        case Apply(op):
            yield op
        case Hook():
            yield f"hook {step.effect}"
        case Step():
            yield step.optimizer
        case _:
            yield str(INSTRUCTIONS[type(step)].notation)
