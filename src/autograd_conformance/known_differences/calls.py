"""Conditions about the backward calls of a program: the values that a call differentiates through, and what earlier
calls did.

"Passes through" means upstream: a call passes through its roots and through all values that the roots were computed
from.
"""

from __future__ import annotations

from collections.abc import Sequence

from autograd_conformance.programs.language import (
    Apply,
    AssignGrad,
    Backward,
    BackwardCall,
    Grad,
    InPlace,
    Leaf,
    Program,
    Ref,
    ZeroGrad,
)

CALLS = (Backward, Grad)


def reuses_graph(program: Program, at: int) -> bool:
    """Whether instruction `at` is a call that passes through a value which an earlier call passed through. Roots count;
    leaves at the end of a graph do not.
    """
    call = program[at]
    earlier = {
        ref for step in program.instructions[:at] if isinstance(step, CALLS) for ref in upstream_of_call(program, step)
    }
    return isinstance(call, CALLS) and any(
        ref in earlier and (ref in call.roots or not isinstance(program[ref.at], Leaf))
        for ref in upstream_of_call(program, call)
    )


def partly_reuses_graph(program: Program, at: int) -> bool:
    """Whether instruction `at`, or a call before it, reuses a part of the graph of earlier calls, and also passes
    through ops that are not downstream of that part.
    """
    gone: set[Ref] = set()
    for call in program.instructions[: at + 1]:
        if isinstance(call, CALLS):
            made = {ref for ref in upstream_of_call(program, call) if isinstance(program[ref.at], Apply)}
            apart = (ref for ref in made - gone if gone.isdisjoint(upstream_of(program, [ref])))
            if not gone.isdisjoint(made) and any(apart):
                return True
            gone |= made
    return False


def grad_is_none(program: Program, at: int, leaf: Ref) -> bool:
    """Whether the `.grad` of a leaf is None before instruction `at`: since it was last cleared, no call accumulated
    into it and none was assigned.
    """
    is_set = False
    for step in program.instructions[:at]:
        match step:
            case Backward() if leaf in upstream_of_call(program, step):
                is_set = True
            case AssignGrad():
                is_set = is_set or step.leaf == leaf
            case ZeroGrad(leaves) if leaf in leaves:
                is_set = False
            case _:
                pass
    return not is_set


def reaches_several_leaves(program: Program, at: int, leaf: Ref) -> bool:
    """Whether instruction `at`, or one before it, is a backward call that accumulates into this leaf and at least one
    other leaf.
    """
    calls = (step for step in program.instructions[: at + 1] if isinstance(step, Backward))
    reached = (upstream_of_call(program, call) & {*program.leaves} for call in calls)
    return any(leaf in leaves and len(leaves) > 1 for leaves in reached)


def operands_share_leaf(program: Program, at: int) -> bool:
    """Whether an op before instruction `at` has two operands that were computed from the same leaf."""
    for step in program.instructions[:at]:
        if isinstance(step, Apply):
            origins = [upstream_of(program, [arg]) & {*program.leaves} for arg in step.args]
            if sum(map(len, origins)) > len(set().union(*origins)):
                return True
    return False


def may_have_grad(program: Program, at: int, leaf: Ref, through: str | None) -> bool:
    """Whether an earlier backward call may have set the `.grad` of a leaf before call `at`, and nothing cleared it
    since.

    If `through` names an op, call `at` also has to pass through this op, applied to the leaf.
    """
    call = program[at]
    if through is not None and not (isinstance(call, CALLS) and _goes_through(program, call, leaf, through)):
        return False
    is_set = False
    for step in program.instructions[:at]:
        match step:
            case Backward():
                is_set = is_set or leaf in upstream_of_call(program, step)
            case ZeroGrad(leaves) if leaf in leaves:
                is_set = False
            case _:
                pass
    return is_set


def _goes_through(program: Program, call: BackwardCall, leaf: Ref, op: str) -> bool:
    """Whether a call passes through an op that has the leaf as an operand."""
    made = (program[ref.at] for ref in upstream_of_call(program, call))
    return any(isinstance(step, Apply) and step.op == op and leaf in step.args for step in made)


def reuses_root(program: Program, at: int) -> bool:
    """Whether instruction `at` is a call one of whose roots an earlier call passed through and an op has taken as an
    operand since.
    """
    call, gone, taken = program[at], set[Ref](), set[Ref]()
    for step in program.instructions[:at]:
        match step:
            case Backward() | Grad():
                gone |= upstream_of_call(program, step)
            case Apply():
                taken |= gone.intersection(step.args)
            case _:
                pass
    return isinstance(call, CALLS) and not taken.isdisjoint(call.roots)


def upstream_of_call(program: Program, call: BackwardCall, writes: Sequence[InPlace] = ()) -> set[Ref]:
    """The roots of a call and all values upstream of them, through ops and through the given in-place writes."""
    return upstream_of(program, call.roots, writes)


def upstream_of(program: Program, refs: Sequence[Ref], writes: Sequence[InPlace] = ()) -> set[Ref]:
    """The given values and all values upstream of them, through ops and through the given in-place writes."""
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
