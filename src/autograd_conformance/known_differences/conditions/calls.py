"""Conditions about the backward calls of a program: the values that a call differentiates through, and what earlier
calls did.

"Passes through" means upstream: a call passes through its roots and through all values that the roots were computed
from.
"""

from __future__ import annotations

from collections.abc import Sequence

from autograd_conformance.known_differences.condition import ProgramFlag
from autograd_conformance.programs.language import (
    Apply,
    AssignGrad,
    Backward,
    BackwardCall,
    Grad,
    InPlace,
    Instruction,
    Leaf,
    Program,
    Ref,
    ZeroGrad,
)
from autograd_conformance.rules.violations.violation import Violation

CALLS = (Backward, Grad)


class GraphReused(ProgramFlag):
    """The failing call passes through a value that an earlier call passed through. Roots count; leaves at the end of a
    graph do not.
    """

    key, old_key, covers_gradients = "graph_reused", "again", True

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        call = program[violation.at]
        earlier = {ref for step in _calls_before(program, violation.at) for ref in upstream_of_call(program, step)}
        return isinstance(call, CALLS) and any(
            ref in earlier and (ref in call.roots or not isinstance(program[ref.at], Leaf))
            for ref in upstream_of_call(program, call)
        )


class GraphPartlyReused(ProgramFlag):
    """The failing call, or a call before it, reuses a part of the graph that earlier calls did not retain, and also
    passes through ops that are not downstream of that part.
    """

    key, old_key = "graph_partly_reused", "partly"

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        gone: set[Ref] = set()
        for call in _calls_before(program, violation.at + 1):
            made = {ref for ref in upstream_of_call(program, call) if isinstance(program[ref.at], Apply)}
            apart = (ref for ref in made - gone if gone.isdisjoint(upstream_of(program, [ref])))
            if not gone.isdisjoint(made) and any(apart):
                return True
            if not call.retains:
                gone |= made
        return False


class RootReused(ProgramFlag):
    """An earlier call passed through a root of the failing call, and an op has taken this root as an operand since."""

    key, old_key = "root_reused", "anew"

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        call, gone, taken = program[violation.at], set[Ref](), set[Ref]()
        for step in program.instructions[: violation.at]:
            match step:
                case Backward() | Grad():
                    gone |= upstream_of_call(program, step)
                case Apply():
                    taken |= gone.intersection(step.args)
                case _:
                    pass
        return isinstance(call, CALLS) and not taken.isdisjoint(call.roots)


class GradAlreadySet(ProgramFlag):
    """An earlier backward call may have set the `.grad` of the leaf in question, and nothing cleared it since. If the
    entry names an op, the failing call passes through this op, applied to the leaf.
    """

    key, old_key, covers_gradients = "grad_already_set", "held", True

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        call, leaf = program[violation.at], violation.subject
        if leaf is None or (op is not None and not _goes_through(program, call, leaf, op)):
            return False
        is_set = False
        for step in program.instructions[: violation.at]:
            match step:
                case Backward():
                    is_set = is_set or leaf in upstream_of_call(program, step)
                case ZeroGrad(leaves) if leaf in leaves:
                    is_set = False
                case _:
                    pass
        return is_set


class GradIsNone(ProgramFlag):
    """The `.grad` of the leaf in question is None before the failing instruction: since the `.grad` was last cleared,
    no call accumulated into it and no value was assigned to it.
    """

    key, old_key = "grad_is_none", "holds_none"

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        leaf, is_set = violation.subject, False
        for step in program.instructions[: violation.at]:
            match step:
                case Backward() if leaf in upstream_of_call(program, step):
                    is_set = True
                case AssignGrad() if step.leaf == leaf:
                    is_set = step.value is not None
                case ZeroGrad(leaves) if leaf in leaves:
                    is_set = False
                case _:
                    pass
        return leaf is not None and not is_set


class ReachesSeveralLeaves(ProgramFlag):
    """The failing call, or a backward call before it, accumulates into the leaf in question and into another leaf."""

    key, old_key = "reaches_several_leaves", "several"

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        calls = (call for call in _calls_before(program, violation.at + 1) if isinstance(call, Backward))
        reached = (upstream_of_call(program, call) & {*program.leaves} for call in calls)
        return any(violation.subject in leaves and len(leaves) > 1 for leaves in reached)


class RootWithoutInputs(ProgramFlag):
    """The failing call has a root that was computed from none of the call's inputs, or, if the call names no inputs,
    from no leaf.
    """

    key, old_key, covers_gradients = "root_without_inputs", "unreached", True

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        call = program[violation.at]
        if not isinstance(call, CALLS):
            return False
        inputs = {*(call.inputs or program.leaves)}
        return any(inputs.isdisjoint(upstream_of(program, [root])) for root in call.roots)


class UnusedInput(ProgramFlag):
    """The failing call has an input that none of its roots was computed from."""

    key = "unused_input"

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        call = program[violation.at]
        return isinstance(call, CALLS) and not upstream_of_call(program, call).issuperset(call.inputs or ())


def _calls_before(program: Program, at: int) -> list[BackwardCall]:
    return [step for step in program.instructions[:at] if isinstance(step, CALLS)]


def _goes_through(program: Program, call: Instruction, leaf: Ref, op: str) -> bool:
    """Returns whether an instruction is a call that passes through an op which has the leaf as an operand."""
    if not isinstance(call, CALLS):
        return False
    made = (program[ref.at] for ref in upstream_of_call(program, call))
    return any(isinstance(step, Apply) and step.op == op and leaf in step.args for step in made)


def upstream_of_call(program: Program, call: BackwardCall, writes: Sequence[InPlace] = ()) -> set[Ref]:
    """Returns the roots of a call and all values upstream of these roots, through ops and through the given in-place
    writes.
    """
    return upstream_of(program, call.roots, writes)


def upstream_of(program: Program, refs: Sequence[Ref], writes: Sequence[InPlace] = ()) -> set[Ref]:
    """Returns the given values and all values upstream of these, through ops and through the given in-place writes."""
    found: set[Ref] = set()
    waiting = list(refs)
    while waiting:
        ref = waiting.pop()
        if ref not in found:
            step = program[ref.at]
            waiting += step.args if isinstance(step, Apply) else ()
            waiting += [arg for write in writes if write.target == ref for arg in write.args]
            found.add(ref)
    return found
