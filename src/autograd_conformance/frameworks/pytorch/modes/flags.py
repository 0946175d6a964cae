"""Determines which values of a program require grad, before the program runs."""

from __future__ import annotations

from collections.abc import Iterator, Set
from functools import lru_cache

from autograd_conformance.frameworks.pytorch.modes.sharing import may_be_view
from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.programs.language import (
    Apply,
    DetachInPlace,
    InPlace,
    Instruction,
    Leaf,
    Modes,
    Program,
    Ref,
    SetRequiresGrad,
    is_recorded,
)
from autograd_conformance.programs.operands import operands, results


def requires_grad(program: Program, at: int) -> bool | None:
    """Whether the result of an instruction requires grad: it is recorded, and an operand requires grad. None if this
    depends on whether a value that was detached in place is a view: PyTorch refuses to detach a view.
    """
    refused, detached = (_records(program, at, _before(program, refuses)[at]) for refuses in (True, False))
    return refused if refused == detached else None


def _records(program: Program, at: int, on: Set[Ref]) -> bool:
    step = program[at]
    return not is_random(step) and is_recorded(program.mode(at)) and not on.isdisjoint(operands(step))


def is_random(step: Instruction) -> bool:
    """Whether an instruction draws random numbers. These have no history, even if the op takes its shape from a
    value.
    """
    return isinstance(step, Apply) and row_of(step.op).draws is not None


@lru_cache(maxsize=64)
def _before(program: Program, refuses: bool) -> tuple[frozenset[Ref], ...]:
    """Returns, for each instruction, the values that require grad before it, if PyTorch refuses to detach what may be
    a view, or if it does not. Gradients never require grad, because frameworks for which this is computed cannot
    differentiate them.
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
            case SetRequiresGrad(target) if target not in recorded:  # PyTorch refuses it for other values
                on.discard(target)
            case DetachInPlace(target) if not (refuses and any(_views(program, target))):
                on.discard(target)
                recorded.discard(target)
            case Apply() if _records(program, at, on):
                recorded.update(Ref(at, k) for k in range(step.results))
            case InPlace() if _records(program, at, on) and not _is_refused(program, step, on - recorded):
                base = _base(program, step.target)
                values = (Ref(before, k) for before in range(at) for k in range(results(program[before])))
                recorded.update(ref for ref in values if _base(program, ref) == base)
        on |= recorded
    return tuple(found)


def _is_refused(program: Program, write: InPlace, leaves: Set[Ref]) -> bool:
    """Whether PyTorch refuses a recorded write, given the leaves that require grad. It refuses a write to such a leaf
    or to a view of one, to a view that was made under no_grad, and to one of several views that one op made.
    """
    refused = any(row_of(step.op).multi or not is_recorded(mode) for step, mode in _views(program, write.target))
    return refused or _base(program, write.target) in leaves


def _base(program: Program, ref: Ref) -> Ref:
    """Returns the value that another value may be a view of. The result of a detach counts as a value
    without a base.
    """
    return next((step.args[0] for step, _ in reversed([*_views(program, ref)])), ref)


def _views(program: Program, ref: Ref) -> Iterator[tuple[Apply, Modes]]:
    """Yields the ops, with their grad modes, through which a value may be a view of another; the last op first."""
    step = program[ref.at]
    if isinstance(step, Apply) and may_be_view(step):
        yield step, program.mode(ref.at)
        yield from _views(program, step.args[0])
