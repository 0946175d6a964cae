"""Mutants whose first gradients are right and whose gradients of gradients are wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from autograd_conformance.programs.language import Attrs
from evaluation.mutants.mutant import Cotangents, Mutant, Roots, gated


class MixedDropped(Mutant):
    """Gradient contributions to all operands but the first have no history, so that mixed second derivatives are
    missing.
    """

    killed_by = ("higher/op", "higher/differentiable")

    def apply(self, op: str, operands: Roots, attrs: Attrs) -> Roots:
        first, *others = operands
        return super().apply(op, [first, *(gated(x, torch.detach) for x in others)], attrs)


class SineHasNoCurvature(Mutant):
    """The second derivative of sin is zero."""

    killed_by = ("higher/op", "higher/differentiable")

    def apply(self, op: str, operands: Roots, attrs: Attrs) -> Roots:
        if op == "sin" and operands[0].requires_grad and torch.is_grad_enabled():
            slope = torch.cos(operands[0].detach())
            linear = slope * operands[0]
            return [linear + (torch.sin(operands[0]) - linear).detach()]
        return super().apply(op, operands, attrs)


class TanhCurvatureOff(Mutant):
    """The second derivative of tanh is off by one part in a thousand."""

    killed_by = ("higher/op",)

    def apply(self, op: str, operands: Roots, attrs: Attrs) -> Roots:
        off = [gated(x, lambda g: 1.001 * g - 0.001 * g.detach()) for x in operands] if op == "tanh" else operands
        return super().apply(op, off, attrs)


class TanhThirdOff(Mutant):
    """The third derivative of tanh is off by two thousandths of the square of the second."""

    killed_by = ("higher/op-third",)

    def apply(self, op: str, operands: Roots, attrs: Attrs) -> Roots:
        off = [gated(x, lambda g: g + 0.001 * (g - g.detach()) ** 2) for x in operands] if op == "tanh" else operands
        return super().apply(op, off, attrs)


class CreatesHalf(Mutant):
    """With create_graph, gradients that flow past a non-leaf value have no history."""

    killed_by = ("higher/differentiable", "higher/op")

    def apply(self, op: str, operands: Roots, attrs: Attrs) -> Roots:
        return super().apply(op, [x if x.is_leaf else gated(x, torch.detach) for x in operands], attrs)


class ThirdOrderOff(Mutant):
    """After two calls with create_graph, cotangents of later calls are one percent too large."""

    killed_by = ("higher/op-third", "higher/differentiable")
    longest = 16
    why_long = "three calls, and what they are called on cleared in between"

    def reset(self) -> None:
        super().reset()
        self.order = 0

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        if self.order >= 2:
            cotangents = [
                self.read(torch.ones_like(r)) if c is None and r.numel() == 1 else c
                for r, c in zip(roots, cotangents, strict=True)
            ]
            cotangents = [None if c is None else (c * 1.01).astype(c.dtype) for c in cotangents]
        super().backward(roots, cotangents, retain_graph, **options)
        self.order += bool(options.get("create_graph"))


class FunctionalDetached(Mutant):
    """The functional form returns gradients without history even with create_graph."""

    killed_by = ("higher/differentiable",)

    def grad(self, *call: Any) -> Sequence[torch.Tensor | None]:
        return [None if g is None else g.detach() for g in super().grad(*call)]


class FunctionalAlwaysCreates(Mutant):
    """The functional form returns gradients with a history even without create_graph."""

    killed_by = ("higher/plain-raises",)

    def grad(
        self,
        roots: Roots,
        inputs: Roots,
        cotangents: Cotangents,
        retain_graph: bool | None,
        create_graph: bool,
        *more: Any,
    ) -> Sequence[torch.Tensor | None]:  # fmt: skip
        return super().grad(roots, inputs, cotangents, bool(retain_graph), True, *more)


class CreatesOnlyForOne(Mutant):
    """With create_graph, only the first leaf's gradient has a history."""

    killed_by = ("higher/differentiable", "higher/op")
    longest = 9

    def backward(self, roots: Roots, cotangents: Cotangents, retain_graph: bool | None, **options: Any) -> None:
        super().backward(roots, cotangents, retain_graph, **options)
        if options.get("create_graph"):
            for leaf in [leaf for leaf in self.leaves if leaf.grad is not None][1:]:
                leaf.grad = leaf.grad.detach()  # type: ignore[union-attr]
