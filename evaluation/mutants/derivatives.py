"""Mutants whose fault is in the values or derivatives of single ops."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch

from autograd_conformance.programs.language import Attrs
from evaluation.mutants.mutant import Mutant, gated

Tensors = Sequence[torch.Tensor]


class ChangedDerivative(Mutant):
    """A mutant that changes the gradient contribution of one op, `op`, to an operand."""

    op = ""

    def changed(self, operand: torch.Tensor, contribution: torch.Tensor) -> torch.Tensor:
        """The changed contribution; here the right one."""
        return contribution

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        if op == self.op:
            operands = [gated(x, partial(self.changed, x.detach())) for x in operands]
        return super().apply(op, operands, attrs)


class ExpOff(ChangedDerivative):
    """The derivative of exp is off by one part in a million."""

    op, killed_by = "exp", ("gradients/op",)

    def changed(self, operand: torch.Tensor, contribution: torch.Tensor) -> torch.Tensor:
        return contribution * (1 + 1e-6)


class SinFlipped(ChangedDerivative):
    """The derivative of sin has the wrong sign."""

    op, killed_by = "sin", ("gradients/op",)

    def changed(self, operand: torch.Tensor, contribution: torch.Tensor) -> torch.Tensor:
        return -contribution


class SinAtZero(ChangedDerivative):
    """The derivative of sin is 0 instead of 1 where its operand is exactly zero."""

    op, killed_by = "sin", ("gradients/op", "gradients/graph")

    def changed(self, operand: torch.Tensor, contribution: torch.Tensor) -> torch.Tensor:
        return torch.where(operand == 0, torch.zeros_like(contribution), contribution)


class MultiplyAtZero(ChangedDerivative):
    """The gradient of a product with respect to a factor is zero where that factor is exactly zero."""

    op, killed_by = "multiply", ("gradients/op", "gradients/graph")

    def changed(self, operand: torch.Tensor, contribution: torch.Tensor) -> torch.Tensor:
        return torch.where(operand == 0, torch.zeros_like(contribution), contribution)


class SingleTanh(ChangedDerivative):
    """The derivative of tanh is off by one part in ten thousand in float32."""

    op, killed_by = "tanh", ("gradients/op",)

    def changed(self, operand: torch.Tensor, contribution: torch.Tensor) -> torch.Tensor:
        return contribution * (1.0001 if operand.dtype == torch.float32 else 1)


class MatmulTransposed(ChangedDerivative):
    """The gradient of matmul is transposed if the operand is a square matrix."""

    op, killed_by = "matmul", ("gradients/op", "gradients/graph")

    def changed(self, operand: torch.Tensor, contribution: torch.Tensor) -> torch.Tensor:
        square = operand.dim() >= 2 and operand.shape[-1] == operand.shape[-2]
        return contribution.mT if square else contribution


class MeanUnscaled(ChangedDerivative):
    """The derivative of mean is that of sum: it lacks the division by the number of elements."""

    op, killed_by = "mean", ("gradients/op",)

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        made = super().apply(op, operands, attrs)
        times = operands[0].numel() / max(1, made[0].numel())
        return [gated(made[0], lambda g: g * times)] if op == self.op else made


class BroadcastAverages(Mutant):
    """A broadcast operand gets the mean instead of the sum of the gradients of its copies."""

    killed_by = ("gradients/op",)

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        if op in ("multiply", "add", "subtract", "divide"):
            size = max(1, max(x.numel() for x in operands))
            operands = [gated(x, partial(torch.mul, torch.tensor(x.numel() / size))) for x in operands]
        return super().apply(op, operands, attrs)


class SaturatedSigmoid(ChangedDerivative):
    """The derivative of sigmoid is zero where its operand exceeds three."""

    op, killed_by = "sigmoid", ("gradients/op", "gradients/graph")

    def changed(self, operand: torch.Tensor, contribution: torch.Tensor) -> torch.Tensor:
        return torch.where(operand > 3, torch.zeros_like(contribution), contribution)


class TanhValueOff(Mutant):
    """The value of tanh is off by one part in a hundred thousand; its derivative is right."""

    killed_by = ("gradients/forward",)

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        made = super().apply(op, operands, attrs)
        return [y + (y * 1e-5).detach() for y in made] if op == "tanh" else made


class PartnersPrecision(Mutant):
    """The gradient of a factor is rounded to the other factor's dtype if that is narrower."""

    killed_by = ("gradients/op",)

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        if op == "multiply" and len({x.dtype for x in operands}) > 1:
            operands = [gated(x, lambda g: g.float().to(g.dtype)) for x in operands]
        return super().apply(op, operands, attrs)


class KeepsFirstDtype(Mutant):
    """A sum of operands of two dtypes has the first operand's dtype instead of the wider one."""

    killed_by = ("gradients/forward",)

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        made = super().apply(op, operands, attrs)
        return [y.to(operands[0].dtype) for y in made] if op == "add" else made


class GramOnce(Mutant):
    """A product of a matrix with a view of it propagates no gradient through the view."""

    killed_by = ("gradients/fan-out", "gradients/op")

    def apply(self, op: str, operands: Tensors, attrs: Attrs) -> Tensors:
        if op in ("matmul", "mm") and len(operands) == 2:
            left, right = operands
            if left.data_ptr() == right.data_ptr() and left.dim() == right.dim() == 2 and left.numel() > 1:
                operands = [left, right if left is right else right.detach()]
        return super().apply(op, operands, attrs)


class NegativeOfLastNan(ChangedDerivative):
    """The derivative of negative is 0 where its operand is NaN, but only in the last element of an odd number."""

    op, killed_by = "negative", ("gradients/elements",)

    def changed(self, operand: torch.Tensor, contribution: torch.Tensor) -> torch.Tensor:
        last = torch.arange(operand.numel()).reshape(operand.shape) >= operand.numel() // 2 * 2
        return torch.where(last & operand.isnan(), torch.zeros_like(contribution), contribution)


class AbsAtZero(ChangedDerivative):
    """The derivative of the absolute value at 0 is that of positive numbers in float32, and 0 in float64."""

    op, killed_by = "abs", ("gradients/kinks",)

    def changed(self, operand: torch.Tensor, contribution: torch.Tensor) -> torch.Tensor:
        changes = (operand == 0) & (operand.dtype == torch.float32)
        return torch.where(changes, torch.ones_like(contribution), contribution)


class LogsigmoidRounds(ChangedDerivative):
    """The derivative of logsigmoid is 1 minus the sigmoid, which rounds to 0 from 37 on."""

    op, killed_by = "logsigmoid", ("gradients/tails",)

    def changed(self, operand: torch.Tensor, contribution: torch.Tensor) -> torch.Tensor:
        return torch.where(operand > 37, torch.zeros_like(contribution), contribution)
