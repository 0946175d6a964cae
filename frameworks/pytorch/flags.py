"""Which values of a program require grad, told from the program alone, before anything runs."""

from __future__ import annotations

from collections.abc import Set
from functools import lru_cache

from autograd_conformance.frameworks.pytorch.units import may_be_view
from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.programs.language import (
    Apply,
    DetachInPlace,
    InPlace,
    Instruction,
    Leaf,
    Program,
    Ref,
    SetRequiresGrad,
    is_recorded,
)
from autograd_conformance.programs.operands import operands, results


def requires_grad(program: Program, at: int) -> bool:
    """Whether what an instruction computes requires grad: it is recorded, and one of its operands does."""
    return _records(program, at, _before(program)[at])


def _records(program: Program, at: int, on: Set[Ref]) -> bool:
    step = program[at]
    return not is_drawn(step) and is_recorded(program.mode(at)) and not on.isdisjoint(operands(step))


def is_drawn(step: Instruction) -> bool:
    """Whether an instruction draws numbers at random: they have no history, whatever they are drawn in the shape of."""
    return isinstance(step, Apply) and row_of(step.op).draws is not None


@lru_cache(maxsize=64)
def _before(program: Program) -> tuple[frozenset[Ref], ...]:
    """For each instruction, the values that require grad before it; of gradients none does, for where regions are asked
    about they cannot be differentiated.
    """
    on: set[Ref] = set()
    recorded: set[Ref] = set()
    found = []
    for at, step in enumerate(program):
        found.append(frozenset(on))
        match step:
            case Leaf(requires_grad=True):
                on.add(Ref(at))
            case SetRequiresGrad(target, True):
                on.add(target)
            case SetRequiresGrad(target) if target not in recorded:  # of others it is refused
                on.discard(target)
            case DetachInPlace(target):
                on.discard(target)
                recorded.discard(target)
            case Apply() if _records(program, at, on):
                recorded.update(Ref(at, k) for k in range(step.results))
            case InPlace() if _records(program, at, on):
                base = _base(program, step.target)
                values = (Ref(before, k) for before in range(at) for k in range(results(program[before])))
                recorded.update(ref for ref in values if _base(program, ref) == base)
        on |= recorded
    return tuple(found)


def _base(program: Program, ref: Ref) -> Ref:
    """The value that another one may be a view of; what is detached from it does not change with its history."""
    step = program[ref.at]
    return _base(program, step.args[0]) if isinstance(step, Apply) and may_be_view(step) else ref
