"""Faults of the lifetime of graphs and of saved tensors, and of training loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograd_conformance.frameworks.pytorch.saved import TorchSaved
from autograd_conformance.programs.language import Attrs, Groups
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import MATRIX, applied, counting, held_by, leaf_of, total, walked


class _Keeps:
    """Remembers the roots of the last call that retained its graph."""

    def reset(self) -> None:
        super().reset()  # type: ignore[misc]
        self.kept: tuple[Any, ...] = ()

    def backward(
        self, roots: Sequence[Tensor], cotangents: Sequence[Any], retain_graph: bool | None, *rest: Any, **options: Any
    ) -> None:
        super().backward(roots, cotangents, retain_graph, *rest, **options)  # type: ignore[misc]
        self.kept = tuple(roots) if retain_graph else ()


class _KeepsCounted(_Keeps, TorchSaved):
    """The adapter that counts saved tensors, with the fault."""


class RetainedIsRemembered(_Keeps, Fault):
    """A call that retains the graph remembers its roots until the next call, and so keeps the saved tensors of a graph
    whose values were all deleted.
    """

    rule = "memory/dropped"

    def saved_tensor_counter(self) -> TorchSaved:
        return _KeepsCounted(self.requested_device)


def witness_RetainedIsRemembered(a: Any) -> Any:
    counter = counting(a)
    x = leaf_of(counter, MATRIX)
    out = total(counter, applied(counter, "exp", x))
    counter.backward([out], [None], True)
    del out
    return counter.saved()  # type: ignore[attr-defined]


class _Lerp(torch.autograd.Function):
    """lerp with a tensor of weights, whose operands are attributes of the context."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, weight: Tensor) -> Tensor:
        ctx.operands = (a, b, weight)
        return torch.lerp(a, b, weight)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, ...]:
        a, b, weight = ctx.operands
        return gradient * (1 - weight), gradient * weight, gradient * (b - a)


class WeightsSeenLater(Fault):
    """lerp with a tensor of weights reads its operands when the gradient is computed, and so uses the values after a
    write or a step, without an error.
    """

    rule = "writes/error-or-recorded"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        if op == "lerp" and len({x.shape for x in operands}) == 1:
            return (_Lerp.apply(*operands),)
        return super().apply(op, operands, attrs)


def witness_WeightsSeenLater(a: Any) -> Any:
    x, y, z = (leaf_of(a, [value, 2.0]) for value in (1.0, 3.0, 5.0))
    out = total(a, applied(a, "lerp", x, y, z))
    with a.mode("no_grad"):
        a.write("mul_scalar_", z, [], (("scalar", 3),))
    return walked(a, out), held_by(a, x)


class StepFreesNothing(Fault):
    """An optimizer step does not count as a change of its leaves: a graph that was recorded before the step gives
    gradients with the leaves' new values instead of an error.
    """

    rule = "writes/error-or-recorded"

    def step(self, leaves: Sequence[Tensor], optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        changed = [leaf for leaf in leaves if leaf.grad is not None]
        with torch.autograd._unsafe_preserve_version_counter(tuple(changed)):
            super().step(leaves, optimizer, settings, groups)


def witness_StepFreesNothing(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    out = total(a, applied(a, "square", x))
    a.backward([out], [None], True)
    a.step([x], "sgd", (("lr", 0.125),))
    return walked(a, out)


class DetachedAgainRecords(Fault):
    """A value that is detached from a detached value requires grad again if the first source did."""

    rule = "detach/values"

    def detach(self, value: Tensor) -> Tensor:
        made = super().detach(value)
        if getattr(value, "was_recorded", False):
            made.requires_grad_(True)
        made.was_recorded = value.requires_grad  # type: ignore[attr-defined]
        return made


def witness_DetachedAgainRecords(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    return a.requires_grad(a.detach(a.detach(applied(a, "exp", x))))


class DetachedWriteUnseen(Fault):
    """A write to a detached value does not count as a write to its source: a graph that saved the source gives wrong
    gradients without an error, as with PyTorch's .data.
    """

    rule = "writes/error-or-recorded"

    def detach(self, value: Tensor) -> Tensor:
        return value.data if value.dim() > 1 else super().detach(value)


def witness_DetachedWriteUnseen(a: Any) -> Any:
    x = leaf_of(a, MATRIX)
    y = applied(a, "exp", x)
    out = total(a, applied(a, "square", y))
    a.write("mul_scalar_", a.detach(y), [], (("scalar", 3),))
    return walked(a, out), held_by(a, x)
