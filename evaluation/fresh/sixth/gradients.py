"""Faults of single ops' gradients at zeros, at attributes and in layouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import MATRIX, after, alias, applied, before, held_by, leaf_of, total, vjp, walked


class CumulativeProductDivides(Fault):
    """The gradient of a cumulative product divides by the operand, and so is NaN where an element is zero: Burn's
    cumprod, #3864, and PyTensor's, #1911.
    """

    rule = "gradients/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op == "cumulative_prod" and bool((operands[0] == 0).any()):
            (x,), dim = operands, dict(attrs)["dim"]

            def change(gradients: list, cotangents: Sequence) -> list:
                weighted = cotangents[0] * torch.cumprod(x, dim)
                return [weighted.flip(dim).cumsum(dim).flip(dim) / x]

            after(made[0], change)
        return made


def witness_CumulativeProductDivides(a: Any) -> Any:
    return vjp(a, "cumulative_prod", [[2.0, 0.0, 3.0]], dim=0)


class PowerAtZero(Fault):
    """The gradient of a square or a cube is computed as exponent * result / operand, which is NaN at zero: MLX's
    power, #504.
    """

    rule = "gradients/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op == "pow_integer":
            (x,), n = operands, dict(attrs)["exponent"]
            after(made[0], lambda gradients, cotangents: [cotangents[0] * n * x**n / x])
        return made


def witness_PowerAtZero(a: Any) -> Any:
    return vjp(a, "pow_integer", [[2.0, 0.0, 3.0]], exponent=2)


class SiluAtZero(Fault):
    """The gradient of silu recovers the sigmoid by dividing the result by the operand, which is NaN at zero: Candle's
    silu, #2083.
    """

    rule = "gradients/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op == "silu":
            (x,) = operands

            def change(gradients: list, cotangents: Sequence) -> list:
                sigmoid = x * torch.sigmoid(x) / x
                return [cotangents[0] * sigmoid * (1 + x * (1 - sigmoid))]

            after(made[0], change)
        return made


def witness_SiluAtZero(a: Any) -> Any:
    return vjp(a, "silu", [[1.0, 0.0, -1.0]])


class ProductOfNegativeAxis(Fault):
    """The gradient of a product along a dimension that is counted from the end raises, although the product itself
    works: TensorFlow's reduce_prod, #10835.
    """

    rule = "errors/legal-returns"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op == "prod_dim" and dict(attrs)["dim"] < 0:

            def change(gradients: list, cotangents: Sequence) -> list:
                raise RuntimeError(f"indices[0] = {dict(attrs)['dim']} is not in [0, {operands[0].dim()})")

            after(made[0], change)
        return made


def witness_ProductOfNegativeAxis(a: Any) -> Any:
    return walked(a, total(a, applied(a, "prod_dim", leaf_of(a, MATRIX), dim=-1, keepdim=False)))


class ReshapeOfExpanded(Fault):
    """If reshape copies a tensor that was broadcast, the gradient is written into memory with the tensor's strides, so
    that the last repetition overwrites the others: PyTorch's reshape on CUDA, #30303.
    """

    rule = "gradients/graph"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        if op in ("reshape", "flatten"):
            (x,) = operands
            repeated = [d for d in range(x.dim()) if x.stride(d) == 0 and x.shape[d] > 1]

            def change(gradient: Tensor) -> Tensor:
                for d in repeated:
                    gradient = gradient.narrow(d, x.shape[d] - 1, 1).expand_as(gradient)
                return gradient

            made = super().apply(op, operands, attrs)
            if repeated and made[0]._base is None and x.requires_grad:
                return super().apply(op, [alias(x, change)], attrs)
            return made
        return super().apply(op, operands, attrs)


def witness_ReshapeOfExpanded(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    wide = applied(a, "broadcast_to", x, shape=(3, 2))
    out = applied(a, "reshape", wide, shape=(6,))
    weights = leaf_of(a, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], grad=False)
    a.backward([total(a, applied(a, "multiply", out, weights))], [None], None)
    return held_by(a, x)


class TensordotPairsAxes(Fault):
    """The gradient of tensordot over two dimensions of one size pairs them in the wrong order for the second operand:
    HIPS autograd's tensordot, #466.
    """

    rule = "gradients/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        if op == "tensordot" and dict(attrs)["dims"] == 2:
            a, b = operands
            if b.shape[0] == b.shape[1]:
                operands = [a, alias(b, lambda gradient: gradient.transpose(0, 1))]
        return super().apply(op, operands, attrs)


def witness_TensordotPairsAxes(a: Any) -> Any:
    return vjp(a, "tensordot", [MATRIX, MATRIX], dims=2)


class ConvolutionReadsTheRest(Fault):
    """If the stride of conv2d leaves over some rows or columns of the input, the weight's gradient, which is computed
    too large and then cut to the weight's size, is cut on the wrong side: Candle's conv2d, #1214.
    """

    rule = "gradients/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        given = dict(attrs)
        if op not in ("conv2d", "conv2d_bias") or given["groups"] != 1 or made[0].numel() == 0:
            return made
        x, (rows, columns) = operands[0].detach(), operands[1].shape[-2:]
        stride, padding, dilation = given["stride"], given["padding"], given["dilation"]

        def change(gradients: list, cotangents: Sequence) -> list | None:
            if gradients[1] is None:
                return None
            swapped, weights = x.transpose(0, 1), cotangents[0].transpose(0, 1)
            large = torch.nn.functional.conv2d(swapped, weights, stride=dilation, padding=padding, dilation=stride)
            gradients[1] = large.transpose(0, 1)[..., large.shape[-2] - rows :, large.shape[-1] - columns :]
            return gradients

        sizes = zip(x.shape[-2:], (rows, columns), strict=True)
        if any((size + 2 * padding - dilation * (kernel - 1) - 1) % stride for size, kernel in sizes):
            after(made[0], change)
        return made


def witness_ConvolutionReadsTheRest(a: Any) -> Any:
    x = [[[[1.0, 2.0, 4.0, 7.0], [3.0, 5.0, 9.0, 2.0], [8.0, 6.0, 1.0, 0.0], [2.0, 2.0, 3.0, 5.0]]]]
    weight = [[[[0.5, 1.0, -1.0], [2.0, 0.25, 1.5], [1.0, 1.0, 3.0]]]]
    return vjp(a, "conv2d", [x, weight], stride=2, padding=0, dilation=1, groups=1)


class MeanReadsRowMajor(Fault):
    """The gradient of mean reads a cotangent that is not contiguous in the order of its memory: torch/nn's Mean, #345,
    where one mean followed another.
    """

    rule = "gradients/graph"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)

        def change(cotangent: Tensor) -> Tensor:
            order = sorted(range(cotangent.dim()), key=cotangent.stride, reverse=True)
            stored = cotangent.permute(order)
            dense = stored.is_contiguous() and not cotangent.is_contiguous()
            return stored.reshape(cotangent.shape) if dense else cotangent

        if op == "mean":
            before(made[0], change)
        return made


def witness_MeanReadsRowMajor(a: Any) -> Any:
    x = leaf_of(a, [[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]])
    out = applied(a, "matrix_transpose", applied(a, "mean", x, dim=(0,), keepdim=False))
    a.backward([applied(a, "exp", out)], [leaf_of(a, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], grad=False).numpy()], None)
    return held_by(a, x)


class VarianceWithoutMean(Fault):
    """If both results of var_mean with correction=0 are used, the gradient leaves out the mean."""

    rule = "gradients/several-results"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        given = dict(attrs)
        if op != "var_mean" or given["correction"] != 0:
            return made
        (x,), made_count = operands, made[0].numel()

        def change(gradients: list, cotangents: Sequence) -> list | None:
            if gradients[0] is None or any(c is None for c in cotangents):
                return None
            share = cotangents[1]
            if not given["keepdim"]:
                for d in sorted(d % x.dim() for d in given["dim"]):
                    share = share.unsqueeze(d)
            count = x.numel() // max(made_count, 1)
            return [gradients[0] - share.expand_as(x) / count]

        after(made[0], change)
        return made


def witness_VarianceWithoutMean(a: Any) -> Any:
    x = leaf_of(a, MATRIX)
    var, mean = a.apply("var_mean", [x], (("dim", (1,)), ("keepdim", False), ("correction", 0)))
    a.backward([total(a, applied(a, "multiply", var, mean))], [None], None)
    return held_by(a, x)
