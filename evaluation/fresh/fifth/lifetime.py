"""Faults of the lifetime of graphs and of saved tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograd_conformance.frameworks.pytorch.saved import TorchSaved
from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import MATRIX, applied, counting, leaf_of, total, walked


class CreatingRetains(Fault):
    """A call with create_graph retains the graph even if its argument forbids that: `retain_graph = retain_graph or
    create_graph`.
    """

    rule = "lifetime/last-call-frees"

    def backward(
        self,
        roots: Sequence[Tensor],
        cotangents: Sequence[Any],
        retain_graph: bool | None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        super().backward(
            roots, cotangents, retain_graph or (True if create_graph else retain_graph), create_graph, inputs
        )

    def grad(
        self,
        roots: Sequence[Tensor],
        inputs: Sequence[Tensor],
        cotangents: Sequence[Any],
        retain_graph: bool | None,
        create_graph: bool,
        *rest: Any,
    ) -> Sequence[Tensor | None]:
        kept = retain_graph or (True if create_graph else retain_graph)
        return super().grad(roots, inputs, cotangents, kept, create_graph, *rest)


def witness_CreatingRetains(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    out = total(a, applied(a, "exp", x))
    a.grad([out], [x], [None], False, True, None, False)
    return walked(a, out)


class _Hypot(torch.autograd.Function):
    """hypot with broadcast operands, which are attributes of the context."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
        ctx.operands = (a, b)
        return torch.hypot(a, b)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        a, b = ctx.operands
        out = torch.hypot(a, b)
        return (gradient * a / out).sum_to_size(a.shape), (gradient * b / out).sum_to_size(b.shape)


class ContextKeeps(Fault):
    """hypot with broadcasting is a custom function that stores its operands as attributes of the context, which no
    call frees.
    """

    rule = "lifetime/same-root-raises"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        if op == "hypot":
            a, b = operands
            if a.shape != b.shape and a.dtype == b.dtype:
                return (_Hypot.apply(a, b),)
        return super().apply(op, operands, attrs)


def witness_ContextKeeps(a: Any) -> Any:
    out = total(a, applied(a, "hypot", leaf_of(a, [1.0, 2.0]), leaf_of(a, 3.0)))
    a.backward([out], [None], None)
    return walked(a, out)


class _Plans:
    """Remembers the operands of the last contraction."""

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)  # type: ignore[misc]
        if op in ("einsum", "einsum_three", "multi_dot"):
            self.planned = (op, tuple(operands))
        return made

    def reset(self) -> None:
        super().reset()  # type: ignore[misc]
        self.planned = ("", ())


class _PlansCounted(_Plans, TorchSaved):
    """The adapter that counts saved tensors, with the fault."""


class PlanKeepsOperands(_Plans, Fault):
    """The plan of the last contraction is cached together with its operands, and so with their graphs."""

    rule = "memory/dropped"

    def saved_tensor_counter(self) -> TorchSaved:
        return _PlansCounted(self.requested_device)


def witness_PlanKeepsOperands(a: Any) -> Any:
    counter = counting(a)
    x = applied(counter, "exp", leaf_of(counter, MATRIX))
    out = applied(counter, "einsum", x, x, equation="ij,jk->ik")
    del x, out
    return counter.saved()  # type: ignore[attr-defined]
