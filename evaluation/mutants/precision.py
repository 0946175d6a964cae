"""Mutants of precision: computations in another dtype, or in another order, than the dtype of the program allows."""

from __future__ import annotations

from typing import Any

import torch

from autograd_conformance.programs.language import Attrs
from evaluation.mutants.derivatives import ChangedDerivative
from evaluation.mutants.few_digits import Brief, Tensors, changed, coarser, through_float16
from evaluation.mutants.functional import Functional, Grads
from evaluation.mutants.mutant import Mutant, Roots


class ChangedResult(Mutant):
    """A mutant that changes the numbers of one op's result in one dtype, and leaves its gradient as it is."""

    op = ""
    precision = torch.float32

    def new(self, numbers: torch.Tensor) -> torch.Tensor:
        """The changed numbers; here the right ones."""
        return numbers

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        made = super().apply(op, operands, attrs)
        return [changed(y, self.new) if op == self.op and y.dtype == self.precision else y for y in made]


class MatmulInTF32(ChangedResult):
    """Matrix products of float32 have eleven binary digits."""

    op, killed_by = "matmul", ("gradients/forward",)

    def new(self, numbers: torch.Tensor) -> torch.Tensor:
        return coarser(numbers, 11)


class SumsInBfloat16(ChangedResult):
    """Sums of float32 are accumulated in bfloat16."""

    op, killed_by = "sum", ("gradients/forward",)

    def new(self, numbers: torch.Tensor) -> torch.Tensor:
        return numbers.detach().bfloat16().to(numbers.dtype)


class ExpInFloat32(ChangedResult):
    """The exponential of float64 is computed in float32."""

    op, precision, killed_by = "exp", torch.float64, ("gradients/forward",)

    def new(self, numbers: torch.Tensor) -> torch.Tensor:
        return numbers.detach().float().to(numbers.dtype)


class WidensThroughBfloat16(ChangedResult):
    """A conversion from float32 to float64 goes through bfloat16."""

    op, precision, killed_by = "astype_float64", torch.float64, ("gradients/forward",)

    def new(self, numbers: torch.Tensor) -> torch.Tensor:
        return numbers.detach().bfloat16().to(numbers.dtype)


class SoftmaxWithoutMaximum(Brief):
    """The softmax of float16 takes the exponential of its operand, not of the distance to the maximum."""

    only = ("float16",)
    killed_by = ("gradients/forward", "gradients/op")

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        if op != "softmax":
            return super().apply(op, operands, attrs)
        exponential = operands[0].exp()
        return [exponential / exponential.sum(dict(attrs)["dim"], keepdim=True)]


class NumbersWiden(Brief):
    """A product with a Python number is float32."""

    killed_by = ("gradients/forward",)

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        made = super().apply(op, operands, attrs)
        return [y.float() for y in made] if op == "multiply_scalar" else made


class TanhGradientInFloat32(ChangedDerivative):
    """The gradient through tanh has the digits of float32."""

    op, killed_by = "tanh", ("gradients/op",)

    def changed(self, operand: torch.Tensor, contribution: torch.Tensor) -> torch.Tensor:
        return contribution.float().to(contribution.dtype)


class SecondOrderInFewerDigits(Brief, ChangedDerivative):
    """A gradient through a product that is itself differentiable is rounded to two binary digits."""

    op, killed_by = "multiply", ("higher/op", "higher/differentiable", "gradients/op", "gradients/graph")

    def changed(self, operand: torch.Tensor, contribution: torch.Tensor) -> torch.Tensor:
        return changed(contribution, lambda x: coarser(x, 2)) if contribution.requires_grad else contribution


class FunctionalGradientsWiden(Brief, Functional):
    """The functional form returns gradients in float32."""

    killed_by = ("functional/value", "gradients/form")

    def change_results(self, found: Grads, roots: Roots, inputs: Roots, options: dict[str, Any]) -> Grads:
        return [None if gradient is None else gradient.float() for gradient in found]


class ClipsInFewerDigits(Brief):
    """Clipping rounds gradients to two binary digits."""

    killed_by = ("optimizers/clips",)

    def clip(self, leaves: Roots, kind: str, bound: float) -> None:
        super().clip(leaves, kind, bound)
        for leaf in leaves:
            if leaf.grad is not None:
                leaf.grad.data.copy_(coarser(leaf.grad, 2))


class VarianceByDifference(Mutant):
    """The variance is the mean of the squares less the square of the mean."""

    killed_by = ("gradients/cancellation",)

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        if op != "var":
            return super().apply(op, operands, attrs)
        (x,), given = operands, dict(attrs)
        over = {"dim": given["dim"], "keepdim": given["keepdim"]}
        mean = x.mean(**over)
        variance = (x * x).mean(**over) - mean * mean
        counted = x.numel() // max(1, mean.numel())
        return [variance * (counted / (counted - given["correction"]))]


class CovarianceByDifference(Mutant):
    """The covariance is the mean of the products less the product of the means."""

    killed_by = ("gradients/cancellation",)

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        if op != "cov":
            return super().apply(op, operands, attrs)
        rows = operands[0].reshape(-1, operands[0].shape[-1])
        mean, counted = rows.mean(1), rows.shape[1]
        found = (rows @ rows.T / counted - torch.outer(mean, mean)) * (counted / (counted - dict(attrs)["correction"]))
        return [found.reshape(()) if operands[0].ndim == 1 else found]


class StateInFloat16(Mutant):
    """An optimizer keeps the state of float32 and float64 leaves in float16."""

    killed_by = ("optimizers/remembers",)

    def step(self, leaves: Roots, optimizer: str, settings: Attrs, **options: Any) -> None:
        super().step(leaves, optimizer, settings, **options)
        for state in self.optimizer(leaves, optimizer, settings, **options).state.values():
            for held in state.values():
                if isinstance(held, torch.Tensor):
                    held.copy_(through_float16(held))
