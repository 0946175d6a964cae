"""Which values of a program require grad, told from the program alone, before anything runs."""

from __future__ import annotations

from collections.abc import Set
from functools import lru_cache

from autograd_conformance.frameworks.pytorch.units import owner
from autograd_conformance.programs.language import (
    Apply,
    DetachInPlace,
    InPlace,
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
    return is_recorded(program.mode(at)) and not on.isdisjoint(operands(program[at]))


@lru_cache(maxsize=64)
def _before(program: Program) -> tuple[frozenset[Ref], ...]:
    """For each instruction, the values that require grad before it; of gradients none does, for where regions are asked
    about they cannot be differentiated.
    """
    on: set[Ref] = set()
    found = []
    for at, step in enumerate(program):
        found.append(frozenset(on))
        match step:
            case Leaf(requires_grad=True):
                on.add(Ref(at))
            case SetRequiresGrad(target, True):
                on.add(target)
            case SetRequiresGrad(target) | DetachInPlace(target):
                on.discard(target)
            case Apply() if _records(program, at, on):
                on.update(Ref(at, k) for k in range(step.results))
            case InPlace() if _records(program, at, on):
                base = owner(program, step.target)
                values = (Ref(before, k) for before in range(at) for k in range(results(program[before])))
                on.update(ref for ref in values if owner(program, ref) == base)
    return tuple(found)
