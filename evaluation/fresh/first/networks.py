"""Faults of losses, normalisation, convolution and pooling."""

from __future__ import annotations

from typing import Any

import torch

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import MATRIX, after, alias, before, vjp


def _one(number: Any) -> int:
    return number[0] if isinstance(number, tuple) else number


class CrossEntropySoftTarget(Fault):
    """cross_entropy treats soft targets as constants: they get a gradient of zeros."""

    rule = "gradients/op"

    def apply(self, op, operands, attrs):
        if op == "cross_entropy_soft":
            operands = (operands[0], alias(operands[1], torch.zeros_like))
        return super().apply(op, operands, attrs)


def witness_CrossEntropySoftTarget(a):
    return vjp(a, "cross_entropy_soft", [[[1.0, 2.0]], [[0.25, 0.75]]], reduction="mean")


class LayerNormSeveralDims(Fault):
    """If layer_norm normalises over several dimensions, its derivative takes the two means over the last one only."""

    rule = "gradients/op"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        given = dict(attrs)
        if op == "layer_norm" and len(given["normalized_shape"]) > 1:
            x, dims = operands[0], tuple(range(-len(given["normalized_shape"]), 0))

            def partly(gi, go):
                if gi[0] is not None:
                    var, mean = torch.var_mean(x, dim=dims, keepdim=True, correction=0)
                    scale = torch.rsqrt(var + given["eps"])
                    hat, g = (x - mean) * scale, go[0]
                    gi[0] = scale * (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True))
                return gi

            after(out[0], partly)
        return out


def witness_LayerNormSeveralDims(a):
    return vjp(a, "layer_norm", [MATRIX], normalized_shape=(3, 3), eps=0.125)


class ConvBorderWeight(Fault):
    """The gradient of conv1d's weight omits the positions whose window reaches into the padding."""

    rule = "gradients/op"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        given = dict(attrs)
        if (
            op == "conv1d"
            and not isinstance(given["padding"], str)
            and _one(given["padding"]) > 0
            and operands[1].requires_grad
            and operands[0].dim() == 3
        ):
            stride, pad, dil = (_one(given[n]) for n in ("stride", "padding", "dilation"))
            x, w = operands
            start = torch.arange(out[0].shape[-1], device=self.device) * stride - pad
            inside = (start >= 0) & (start + dil * (w.shape[-1] - 1) < x.shape[-1])

            def inner(gi, go):
                if gi[1] is not None:
                    g, wanted = go[0] * inside.to(go[0].dtype), [False, True, False]
                    form = [stride], [pad], [dil], False, [0], given["groups"]
                    gi[1] = torch.ops.aten.convolution_backward(g, x, w, None, *form, wanted)[1]
                return gi

            after(out[0], inner)
        return out


def witness_ConvBorderWeight(a):
    return vjp(a, "conv1d", [[[[1.0, 2.0, 3.0]]], [[[1.0, -1.0]]]], stride=1, padding=1, dilation=1, groups=1)


class AvgPoolPadding(Fault):
    """The derivative of avg_pool1d divides by the number of real elements in a window, though the forward pass counts
    the padding too.
    """

    rule = "gradients/op"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        given = dict(attrs)
        if op == "avg_pool1d" and _one(given["padding"]) > 0:
            size, pad = _one(given["kernel_size"]), _one(given["padding"])
            stride = size if given["stride"] is None else _one(given["stride"])
            starts = [k * stride - pad for k in range(out[0].shape[-1])]
            length = operands[0].shape[-1]
            real = [min(s + size, length) - max(s, 0) for s in starts]
            factor = torch.tensor([size / max(n, 1) for n in real], dtype=out[0].dtype, device=self.device)
            before(out[0], lambda go: go * factor)
        return out


def witness_AvgPoolPadding(a):
    return vjp(a, "avg_pool1d", [[[[1.0, 2.0, 3.0]]]], kernel_size=2, stride=2, padding=1)
