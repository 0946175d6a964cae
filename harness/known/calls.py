"""Which calls programs make, as entries ask for it: what a call goes through, and what earlier ones did and left."""

from __future__ import annotations

from collections.abc import Sequence

from autograd_conformance.programs.language import (
    Apply,
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


def goes_again(program: Program, at: int) -> bool:
    """Whether instruction `at` is a backward call through a value, its root included, that an earlier one went
    through; the leaves that calls end at are not meant.
    """
    call = program[at]
    earlier = {ref for step in program.instructions[:at] if isinstance(step, CALLS) for ref in behind(program, step)}
    return isinstance(call, CALLS) and any(
        ref in earlier and (ref in call.roots or not isinstance(program[ref.at], Leaf)) for ref in behind(program, call)
    )


def may_hold(program: Program, at: int, leaf: Ref, through: str | None) -> bool:
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
                held = held or leaf in behind(program, step)
            case ZeroGrad(leaves) if leaf in leaves:
                held = False
            case _:
                pass
    return held


def _goes_through(program: Program, call: BackwardCall, leaf: Ref, op: str) -> bool:
    """Whether a call goes through an op that takes a leaf."""
    made = (program[ref.at] for ref in behind(program, call))
    return any(isinstance(step, Apply) and step.op == op and leaf in step.args for step in made)


def has_root_taken_anew(program: Program, at: int) -> bool:
    """Whether instruction `at` is a call with a root that an earlier call went through and that an op took since."""
    call, gone, taken = program[at], set[Ref](), set[Ref]()
    for step in program.instructions[:at]:
        match step:
            case Backward() | Grad():
                gone |= behind(program, step)
            case Apply():
                taken |= gone.intersection(step.args)
            case _:
                pass
    return isinstance(call, CALLS) and not taken.isdisjoint(call.roots)


def behind(program: Program, call: BackwardCall, writes: Sequence[InPlace] = ()) -> set[Ref]:
    """The roots of a call and all that ops, or some writes, made them from."""
    found: set[Ref] = set()
    waiting = list(call.roots)
    while waiting:
        ref = waiting.pop()
        if ref not in found:
            step = program[ref.at]
            waiting += step.args if isinstance(step, Apply) else ()
            waiting += [arg for write in writes if write.target == ref for arg in write.args]
            found.add(ref)
    return found
