"""Mutants of custom functions: PyTorch with some ops as custom functions that use their features wrongly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from autograd_conformance.programs.language import Attrs
from evaluation.mutants.mutant import Mutant


class Custom(Mutant):
    """PyTorch with some ops as custom functions."""

    def custom(self, op: str) -> Callable[..., Any] | None:
        """The custom function of an op; None if the op has none."""
        return None

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        """Apply an op, as a custom function if it has one."""
        function = self.custom(op)
        return super().apply(op, operands, attrs) if function is None else (function(*operands),)


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def gradients(ctx: Any, g: torch.Tensor) -> list[torch.Tensor | None]:
        """The right gradients of both operands, None for one that needs none."""
        pairs = zip(ctx.saved_tensors, reversed(ctx.saved_tensors), ctx.needs_input_grad)
        return [(g * other).sum_to_size(x.shape).to(x.dtype) if needed else None for x, other, needed in pairs]

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        return tuple(_Product.gradients(ctx, g))


class ConstantFirstOperand(Custom):
    """A custom function whose first operand needs no gradient gives zeros to the second one."""

    killed_by = ("gradients/graph", "gradients/op")

    class Product(_Product):
        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            first, second = _Product.gradients(ctx, g)
            return first, second if first is not None or second is None else torch.zeros_like(second)

    def custom(self, op: str) -> Callable[..., Any] | None:
        return self.Product.apply if op == "multiply" else None


class SameOperandOnce(Custom):
    """A custom function that takes a value twice returns one gradient for it, not two."""

    killed_by = ("gradients/same-argument",)

    class Product(_Product):
        @staticmethod
        def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            ctx.same = a is b or (a.data_ptr() == b.data_ptr() and a.shape == b.shape and a.numel() > 0)
            return _Product.forward(ctx, a, b)

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            first, second = _Product.gradients(ctx, g)
            return (first, None) if ctx.same else (first, second)

    def custom(self, op: str) -> Callable[..., Any] | None:
        return self.Product.apply if op == "multiply" else None


class SavesByAttribute(Custom):
    """A custom function keeps its operand as an attribute, so that nobody checks the operand's version."""

    killed_by = ("writes/error-or-recorded",)

    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.x = x
            return torch.sin(x)

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            return g * torch.cos(ctx.x)

    def custom(self, op: str) -> Callable[..., Any] | None:
        return self.Sine.apply if op == "sin" else None


class SecondDerivativeForgotten(Custom):
    """The derivative of a custom function is a constant for further derivatives, and no error says so."""

    killed_by = ("higher/op", "higher/differentiable", "functional/value")

    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return torch.sin(x)

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            (x,) = ctx.saved_tensors
            return g * torch.cos(x.detach())

    def custom(self, op: str) -> Callable[..., Any] | None:
        return self.Sine.apply if op == "sin" else None


class ResultIsOperand(Custom):
    """A custom function returns its operand where nothing is to be done, without a separate history."""

    killed_by = ("views/own-memory", "gradients/op", "gradients/graph")

    class Absolute(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x.view_as(x) if bool((x >= 0).all()) else torch.abs(x)

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            (x,) = ctx.saved_tensors
            return g * torch.sign(x)

    def custom(self, op: str) -> Callable[..., Any] | None:
        return self.Absolute.apply if op == "abs" else None
