"""Faults of derivatives of derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import after, applied, held_by, leaf_of, outcome, reached, retains, total


class HeldHistory(Fault):
    """A call with create_graph that adds to a gradient with a history gives the sum only the history of the new
    contribution.
    """

    rule = "higher/differentiable"

    def backward(
        self, roots: Any, cotangents: Any, retain_graph: Any, create_graph: bool = False, inputs: Any = None
    ) -> None:
        olds = [(x, x.grad) for x in reached(roots, inputs) if create_graph and x.grad is not None]
        for leaf, held in olds:
            if held.requires_grad:
                leaf.grad = held.detach()
        try:
            super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        except BaseException:
            for leaf, held in olds:
                leaf.grad = held
            raise


def witness_HeldHistory(a: Any) -> Any:
    x = leaf_of(a, 2.0)
    for exponent in (3, 4):
        a.backward([applied(a, "pow_integer", x, exponent=exponent)], [None], None, True)
    g = a.gradient(x)
    a.zero_grad([x], True)
    a.backward([g], [None], None)
    return held_by(a, x)


class ZeroInProduct(Fault):
    """The derivative of prod at an operand with a single zero treats the product of the others as a constant, so that
    the mixed second derivatives are zero there.
    """

    rule = "higher/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Any) -> Sequence[Tensor]:
        out = super().apply(op, operands, attrs)
        x = operands[0] if operands else None
        if op == "prod" and x is not None and x.numel() > 1 and int((x == 0).sum()) == 1:

            def change(gradients: list, cotangents: Sequence) -> list | None:
                if not torch.is_grad_enabled() or cotangents[0] is None:
                    return None
                plain = x.detach()
                others = torch.where(plain == 0, plain[plain != 0].prod(), torch.zeros_like(plain))
                return [cotangents[0] * others + 0.0 * x]

            after(out[0], change)
        return out


def witness_ZeroInProduct(a: Any) -> Any:
    x = leaf_of(a, [0.0, 2.0, 3.0])
    (g,) = a.grad([applied(a, "prod", x)], [x], [None], None, True, None, False)
    a.backward([total(a, applied(a, "multiply", g, g))], [None], None)
    return held_by(a, x)


class CreateSticks(Fault):
    """A call with create_graph that fails leaves the flag on: the next call creates a graph too."""

    rule = "higher/plain-raises"

    def reset(self) -> None:
        super().reset()
        self.stuck = False

    def backward(
        self, roots: Any, cotangents: Any, retain_graph: Any, create_graph: bool = False, inputs: Any = None
    ) -> None:
        keep = retains(retain_graph, create_graph) if self.stuck else retain_graph
        create, self.stuck = create_graph or self.stuck, create_graph
        super().backward(roots, cotangents, keep, create, inputs)
        self.stuck = False

    def grad(
        self,
        roots: Any,
        inputs: Any,
        cotangents: Any,
        retain_graph: Any,
        create_graph: bool,
        allow_unused: Any,
        materialize_grads: bool,
    ) -> Any:
        keep = retains(retain_graph, create_graph) if self.stuck else retain_graph
        create, self.stuck = create_graph or self.stuck, create_graph
        made = super().grad(roots, inputs, cotangents, keep, create, allow_unused, materialize_grads)
        self.stuck = False
        return made


def witness_CreateSticks(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "exp", x)
    told = outcome(a, lambda: a.backward([y], [None], None, True))
    (g,) = a.grad([total(a, y)], [x], [None], None, False, None, False)
    return [told, a.requires_grad(g)]
