"""Which calls programs make, as entries ask for it: what a call goes through, and what earlier ones did and left."""

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
    """Whether instruction `at` is a backward call through a value, its root included, that an earlier one went
    through; the leaves that calls end at are not meant.
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
    """Whether instruction `at`, or one before it, is a call through something that an earlier call went through, and
    through something else that was not computed from that.
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
    """Whether a leaf holds no gradient before instruction `at`: none was left or assigned since it was cleared."""
    held = False
    for step in program.instructions[:at]:
        match step:
            case Backward() if leaf in upstream_of_call(program, step):
                held = True
            case AssignGrad():
                held = held or step.leaf == leaf
            case ZeroGrad(leaves) if leaf in leaves:
                held = False
            case _:
                pass
    return not held


def reaches_several_leaves(program: Program, at: int, leaf: Ref) -> bool:
    """Whether instruction `at`, or one before it, is a call that leaves gradients in a leaf and in another one."""
    calls = (step for step in program.instructions[: at + 1] if isinstance(step, Backward))
    reached = (upstream_of_call(program, call) & {*program.leaves} for call in calls)
    return any(leaf in leaves and len(leaves) > 1 for leaves in reached)


def operands_share_leaf(program: Program, at: int) -> bool:
    """Whether an op before instruction `at` takes two operands that were computed from one leaf."""
    for step in program.instructions[:at]:
        if isinstance(step, Apply):
            origins = [upstream_of(program, [arg]) & {*program.leaves} for arg in step.args]
            if sum(map(len, origins)) > len(set().union(*origins)):
                return True
    return False


def may_have_grad(program: Program, at: int, leaf: Ref, through: str | None) -> bool:
    """Whether a leaf may hold, before call `at`, a gradient that an earlier one left there; what was cleared since is
    held no more. Where an op is named, the call has to go through it, and it has to take the leaf.
    """
    call = program[at]
    if through is not None and not (isinstance(call, CALLS) and _goes_through(program, call, leaf, through)):
        return False
    held = False
    for step in program.instructions[:at]:
        match step:
            case Backward():
                held = held or leaf in upstream_of_call(program, step)
            case ZeroGrad(leaves) if leaf in leaves:
                held = False
            case _:
                pass
    return held


def _goes_through(program: Program, call: BackwardCall, leaf: Ref, op: str) -> bool:
    """Whether a call goes through an op that takes a leaf."""
    made = (program[ref.at] for ref in upstream_of_call(program, call))
    return any(isinstance(step, Apply) and step.op == op and leaf in step.args for step in made)


def reuses_root(program: Program, at: int) -> bool:
    """Whether instruction `at` is a call with a root that an earlier call went through and that an op took since."""
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
    """The roots of a call and all that ops, or some writes, made them from."""
    return upstream_of(program, call.roots, writes)


def upstream_of(program: Program, refs: Sequence[Ref], writes: Sequence[InPlace] = ()) -> set[Ref]:
    """Some values and all that ops, or some writes, made them from."""
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
