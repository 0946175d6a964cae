"""Which calls programs make, as entries ask for it: what a call goes through, and what earlier ones did and left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
    """Whether a leaf may hold, before instruction `at`, a gradient that a call left there, through an op which takes it
    where one is named; what was cleared since is held no more.
    """
    ways = {leaf.at} if through is None else {*_uses(program, leaf, through)}
    held = False
    for step in program.instructions[:at]:
        match step:
            case Backward():
                held = held or not ways.isdisjoint(ref.at for ref in behind(program, step))
            case ZeroGrad(leaves) if leaf in leaves:
                held = False
            case _:
                pass
    return held


def _uses(program: Program, leaf: Ref, op: str) -> Iterator[int]:
    """The instructions that apply an op to a leaf."""
    return (k for k, step in enumerate(program) if isinstance(step, Apply) and step.op == op and leaf in step.args)


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
