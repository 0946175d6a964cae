"""Faults of gradients of gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import after, applied, leaf_of, reached, total


class SoftplusSecond(Fault):
    """The second derivative of softplus uses beta = 1."""

    rule = "higher/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op == "softplus" and (beta := dict(attrs)["beta"]) != 1:
            (x,) = operands

            def derived(_: list, cotangents: Sequence) -> list | None:
                if not torch.is_grad_enabled():
                    return None
                fixed = x.detach()
                return [cotangents[0] * torch.sigmoid(beta * fixed + (x - fixed))]

            after(made[0], derived)
        return made


def witness_SoftplusSecond(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    (g,) = a.grad([total(a, applied(a, "softplus", x, beta=0.5))], [x], [None], None, True, None, False)
    (h,) = a.grad([total(a, g)], [x], [None], None, False, None, False)
    return a.read(h).tolist()


class SumForgetsOlder(Fault):
    """A call with create_graph adds to a leaf's gradient as if that were a constant."""

    rule = "higher/differentiable"

    def backward(
        self,
        roots: Sequence[Tensor],
        cotangents: Sequence[Any],
        retain_graph: bool | None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        held = [(x, x.grad) for x in reached(roots, inputs) if x.grad is not None and x.grad.requires_grad]
        for leaf, gradient in held if create_graph else []:
            leaf.grad = gradient.detach()
        try:
            super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        except Exception:
            for leaf, gradient in held:
                leaf.grad = gradient
            raise


def witness_SumForgetsOlder(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    for _ in range(2):
        a.backward([total(a, applied(a, "square", x))], [None], None, True)
    (h,) = a.grad([total(a, a.gradient(x))], [x], [None], None, False, None, False)
    return a.read(h).tolist()
