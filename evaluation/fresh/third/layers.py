"""Faults of the derivatives of layers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import after, vjp


class ConvolutionRest(Fault):
    """The gradient of a strided conv1d's weight, which is too long if the stride leaves a remainder of the input, is
    cut at the front instead of the end.
    """

    rule = "gradients/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Any) -> Sequence[Tensor]:
        out = super().apply(op, operands, attrs)
        if op not in ("conv1d", "conv1d_bias") or operands[0].ndim != 3:
            return out
        given = dict(attrs)
        stride, padding, dilation = (
            v[0] if isinstance(v, tuple) else v for v in (given["stride"], given["padding"], given["dilation"])
        )
        x, weight = operands[:2]
        span = dilation * (weight.shape[-1] - 1) + 1
        rest = (x.shape[-1] + 2 * padding - span) % stride

        def change(gradients: list, cotangents: Sequence) -> list | None:
            if gradients[1] is None or cotangents[0] is None:
                return None
            padded = torch.nn.functional.pad(x, (padding, padding))
            windows = padded[..., rest:].unfold(-1, span, stride)[..., ::dilation]
            return [gradients[0], torch.einsum("bol,bclk->ock", cotangents[0], windows), *gradients[2:]]

        if rest and given["groups"] == 1:
            after(out[0], change)
        return out


def witness_ConvolutionRest(a: Any) -> Any:
    x, w = [[[1.0, 2.0, 4.0, 8.0]]], [[[1.0, -1.0, 0.5]]]
    return vjp(a, "conv1d", [x, w], stride=2, padding=0, dilation=1, groups=1)


class NormOfTwoAxes(Fault):
    """The derivative of layer_norm over several dimensions divides its means by the size of the last dimension instead
    of the number of normalised elements.
    """

    rule = "gradients/op"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Any) -> Sequence[Tensor]:
        out = super().apply(op, operands, attrs)
        if op not in ("layer_norm", "layer_norm_affine"):
            return out
        given = dict(attrs)
        shape, eps = given["normalized_shape"], given["eps"]
        last, x = shape[-1], operands[0]
        dims = tuple(range(-len(shape), 0))

        def change(gradients: list, cotangents: Sequence) -> list | None:
            if gradients[0] is None or cotangents[0] is None:
                return None
            g = cotangents[0] * operands[1] if len(operands) > 1 else cotangents[0]
            scale = torch.rsqrt(x.var(dims, correction=0, keepdim=True) + eps)
            normal = (x - x.mean(dims, keepdim=True)) * scale
            first = g.sum(dims, keepdim=True) / last
            second = (g * normal).sum(dims, keepdim=True) / last
            return [scale * (g - first - normal * second), *gradients[1:]]

        if last != prod(shape):
            after(out[0], change)
        return out


def witness_NormOfTwoAxes(a: Any) -> Any:
    return vjp(a, "layer_norm", [[[1.0, 2.0], [4.0, -1.0]]], normalized_shape=(2, 2), eps=0.5)


class ExtremesMeet(Fault):
    """If aminmax reduces a dimension of size one, where an element is both smallest and largest, the gradient of the
    largest overwrites that of the smallest.
    """

    rule = "gradients/several-results"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Any) -> Sequence[Tensor]:
        out = super().apply(op, operands, attrs)
        dim = dict(attrs).get("dim")
        if op == "aminmax" and isinstance(dim, int) and operands[0].ndim and operands[0].shape[dim] == 1:

            def change(gradients: list, cotangents: Sequence) -> list:
                largest = cotangents[1]
                if largest is None:
                    return [torch.zeros_like(gradients[0])]
                return [largest.reshape(gradients[0].shape)]

            after(out[0], change)
        return out


def witness_ExtremesMeet(a: Any) -> Any:
    return vjp(a, "aminmax", [[[1.0], [2.0]]], dim=1, keepdim=False)
