"""Whether a violation is a known difference: every condition that an entry names holds, and values are within its
limits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from autograd_conformance.harness.known.calls import CALLS, behind, goes_again, has_root_taken_anew, may_hold
from autograd_conformance.harness.known.entry import Known
from autograd_conformance.harness.known.subject import dimensions, dtypes, elements, is_excused
from autograd_conformance.harness.known.units import derives_through_unit, gives, gives_detached, writes_inside
from autograd_conformance.harness.known.writes import writes_aliased, writes_computed, writes_operand, writes_overlapped
from autograd_conformance.ops.tables import VIEWS
from autograd_conformance.programs.language import (
    INSTRUCTIONS,
    Apply,
    DetachInPlace,
    Hook,
    InPlace,
    Instruction,
    Leaf,
    Program,
    Ref,
    SetRequiresGrad,
    Step,
)
from autograd_conformance.programs.observations import Kind
from autograd_conformance.programs.operands import grouped, operands
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.judge.due import DueError, DueReturn
from autograd_conformance.rules.judge.observed import OtherGradient, RaisedError, ResultDtype, ResultShape
from autograd_conformance.rules.judge.violation import Allowed, Violation
from autograd_conformance.rules.tape.backward_calls import RAISED_MIDWAY

MOVING = (
    "optimizers/formula", "optimizers/groups", "optimizers/skips", "optimizers/remembers", "optimizers/variants",
)  # fmt: skip
"""The rules that say where a step moves a leaf to."""

HIGHER = ("higher/op", "higher/op-third")
"""The rules about the gradient of a gradient through one op."""


def is_known(entry: Known, program: Program, violation: Violation) -> bool:
    """Whether a violation is the difference that an entry lists."""
    ops = {violation.op} if violation.op else {step.op for step in program if isinstance(step, Apply)}
    if entry.rule not in (violation.rule, *_general(entry, violation)) and not _is_of_op_alone(entry, violation, ops):
        return False
    if entry.op not in (None, *ops):
        return False
    about = _about(program, violation)
    if entry.elements is not None and entry.elements != elements(program, about, violation):
        return False
    if entry.dimensions is not None and entry.dimensions != dimensions(program, about, violation):
        return False
    if entry.dtype is not None and entry.dtype not in dtypes(program, about):
        return False
    if entry.zero is not None and not _may_be_zero(program, entry.op, entry.zero):
        return False
    if entry.empty and all(value.size for value in Reference(program).values.values()):
        return False
    raised = violation.observed if isinstance(violation.observed, RaisedError) else None
    if entry.raised is not None and (raised is None or raised.kind.value != entry.raised):
        return False
    if entry.message is not None and (raised is None or entry.message not in raised.message):
        return False
    if entry.after is not None and not _stands_before(program, violation.at, entry.after):
        return False
    if entry.given and not (entry.op and gives(program, violation, entry.op)):
        return False
    if entry.call not in (None, INSTRUCTIONS[type(program[violation.at])].notation):
        return False
    if entry.again and not goes_again(program, violation.at):
        return False
    if entry.anew and not has_root_taken_anew(program, violation.at):
        return False
    subject = violation.subject
    if entry.held and (subject is None or not may_hold(program, violation.at, subject, entry.op)):
        return False
    if entry.twice and not _has_root_twice(program, violation.at):
        return False
    if entry.computed and not writes_computed(program, violation.at):
        return False
    if entry.switched and not _is_switched(program, violation.at):
        return False
    if entry.aliased and not writes_aliased(program, violation.at):
        return False
    if entry.written and not (entry.op and writes_operand(program, violation.at, entry.op)):
        return False
    if entry.overlapped and not writes_overlapped(program, violation.at):
        return False
    if entry.unreached and not _has_root_unreached(program, program[violation.at]):
        return False
    if entry.inside and not writes_inside(program, violation):
        return False
    if entry.through_unit and not derives_through_unit(program, violation):
        return False
    if entry.views and not _views(program, violation):
        return False
    if entry.repeated and not _is_repeated(program, violation):
        return False
    if entry.detached and not gives_detached(program, violation):
        return False
    if entry.step is not None and not _is_step(program[violation.at], entry.step):
        return False
    if entry.gives is not None:
        return violation.observed == ResultDtype(entry.gives)
    if entry.shape:
        return isinstance(violation.observed, ResultShape)
    return is_excused(entry, violation)


def _general(entry: Known, violation: Violation) -> tuple[str, ...]:
    """The general rules of which the broken one is a special case: that a legal call returns, where the entry says
    which error it raises instead, or that it comes as far as to the error that is due; that gradients are right, and
    those of gradients, where it says which op's, in which calls, or behind which writes they are not; where a step
    moves leaves to, where it says which step's.
    """
    if entry.step and violation.rule in MOVING:
        return MOVING
    if entry.twice and violation.rule == "relations/sum":  # whose terms may be the very same
        return ("gradients/graph",)
    observed = violation.observed
    unheard = entry.message and isinstance(observed, RaisedError) and observed.kind is Kind.UNKNOWN
    instead = Allowed(DueReturn(), violation.rule) in violation.allowed or _is_cut_short(violation)
    if unheard or (instead and (entry.message or entry.raised)):
        return ("errors/legal-returns",)
    calls = entry.again or entry.held or entry.twice or entry.unreached
    says_where = entry.op or calls or entry.switched or entry.overlapped
    if not (says_where and isinstance(observed, OtherGradient)):
        return ()
    return ("gradients/graph", "higher/differentiable") if violation.rule in HIGHER else ("gradients/graph",)


def _about(program: Program, violation: Violation) -> Ref | None:
    """What a violation is about; where a call raised, its only root, and of a write that nothing else is told of, its
    target.
    """
    failing = program[violation.at]
    if violation.subject is not None:
        return violation.subject
    if isinstance(failing, InPlace):
        return failing.target
    return failing.roots[0] if isinstance(failing, CALLS) and len(failing.roots) == 1 else None


def _is_of_op_alone(entry: Known, violation: Violation, ops: Collection[str]) -> bool:
    """Whether an entry about the gradient of one op is asked about a graph in which there is no other op."""
    return (entry.rule, violation.rule) == ("gradients/op", "gradients/graph") and {*ops} == {entry.op}


def _is_cut_short(violation: Violation) -> bool:
    """Whether a function that could not be computed again stopped a call which, further on, would have raised what it
    has to: of two errors on a call's way, no rule says which comes first.
    """
    stopped = isinstance(violation.observed, RaisedError) and violation.observed.kind is Kind.RECOMPUTED
    return stopped and all(
        isinstance(allowed.due, DueReturn) or (isinstance(allowed.due, DueError) and allowed.due.kind in RAISED_MIDWAY)
        for allowed in violation.allowed
    )


def _may_be_zero(program: Program, op: str | None, operand: int) -> bool:
    """Whether an operand of one of an op's uses may hold a zero: a leaf that does, or something computed."""
    uses = [step.args[operand : operand + 1] for step in program if isinstance(step, Apply) and step.op == op]
    made = (program[ref.at] for refs in uses for ref in refs)
    return any(not isinstance(step, Leaf) or 0 in step.value.data for step in made)


def _stands_before(program: Program, at: int, what: str) -> bool:
    """Whether an op, a step as `_is_step` describes it, a hook of that effect, or an instruction of that word stands
    before an instruction.
    """
    before = program.instructions[:at]
    return any(
        INSTRUCTIONS[type(step)].notation == what
        or (isinstance(step, Hook) and f"hook {step.effect}" == what)
        or (isinstance(step, Apply) and step.op == what)
        or _is_step(step, what)
        for step in before
    )


def _has_root_twice(program: Program, at: int) -> bool:
    """Whether instruction `at`, or one before it, is a call that has a root twice, a root and what may be a view of it
    or the very same, or one of its inputs among its roots.
    """
    calls = [step for step in program.instructions[: at + 1] if isinstance(step, CALLS) and len(step.roots) > 1]
    if not calls:
        return False
    values = Reference(program).values
    return any(
        not {*call.roots}.isdisjoint(call.inputs or ())
        or len({_original(program, root, values) for root in call.roots}) < len(call.roots)
        for call in calls
    )


def _original(program: Program, ref: Ref, values: Mapping[Ref, np.ndarray]) -> Ref:
    """What a value may be a view of, or the very same as: an op of one operand may give that where it has nothing to
    do, as a sum over one element.
    """
    step = program[ref.at]
    if not isinstance(step, Apply) or not step.args:
        return ref
    operand = step.args[0]
    alone = len(step.args) == 1 and np.array_equal(np.ravel(values[ref]), np.ravel(values[operand]))
    return _original(program, operand, values) if alone or step.op in VIEWS else ref


def _is_step(step: Instruction, described: str) -> bool:
    """Whether an instruction is the step of an optimizer that has all of some settings, for one of its leaves;
    `own:lr` stands for a parameter group with an lr of its own.
    """
    optimizer, *settings = described.split()
    if not isinstance(step, Step) or step.optimizer != optimizer:
        return False
    owned = {f"own:{key}" for _, own in step.groups for key, _ in own}
    return any(owned.union(f"{key}={value!r}" for key, value in all_).issuperset(settings) for _, all_ in grouped(step))


def _views(program: Program, violation: Violation) -> bool:
    """Whether the failing instruction makes a view, or, where it applies no op, any other does. Behind a unit, it is
    the one that made the value in question; of a unit that raised, any.
    """
    subject, unit = violation.subject, violation.units.get(violation.at, ())
    failing = program[violation.at if subject is None or subject.at not in unit else subject.at]
    inside = [program[at] for at in unit] if subject is None else []
    steps = inside or ((failing,) if isinstance(failing, Apply) else program)
    return any(isinstance(step, Apply) and step.op in VIEWS for step in steps)


def _is_repeated(program: Program, violation: Violation) -> bool:
    """Whether the value in question was made by an op that had been applied to the same operands, in the same way."""
    if violation.subject is None:
        return False
    made = program[violation.subject.at]
    return isinstance(made, Apply) and made in program.instructions[: violation.subject.at]


def _is_switched(program: Program, at: int) -> bool:
    """Whether a leaf begins, or ceases, to require grad before instruction `at`, behind something made from it."""
    used: set[Ref] = set()
    for step in program.instructions[:at]:
        if isinstance(step, (SetRequiresGrad, DetachInPlace)) and step.target in used & {*program.leaves}:
            return True
        used.update(operands(step) if isinstance(step, (Apply, InPlace)) else ())
    return False


def _has_root_unreached(program: Program, call: Instruction) -> bool:
    """Whether a call has a root that ops computed from none of its inputs."""
    if not isinstance(call, CALLS):
        return False
    inputs = {*(call.inputs or program.leaves)}
    return any(inputs.isdisjoint(behind(program, replace(call, roots=(root,)))) for root in call.roots)
