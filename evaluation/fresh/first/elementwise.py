"""Faults of derivatives of elementwise ops, including second and third derivatives."""

from __future__ import annotations

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch.autograd import Function

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import MATRIX, after, applied, before, held_by, leaf_of, vjp


class ErfinvSinglePrecision(Fault):
    """The derivative of erfinv in float64 multiplies by a constant with float32 precision."""

    rule = "gradients/op"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "erfinv" and out[0].dtype == torch.float64:
            wrong = float(np.float32(math.sqrt(math.pi) / 2)) / (math.sqrt(math.pi) / 2)
            after(out[0], lambda gi, go: [g if g is None else g * wrong for g in gi])
        return out


def witness_ErfinvSinglePrecision(a):
    return vjp(a, "erfinv", [[0.25, -0.5]])


class MultiplyInnerBroadcast(Fault):
    """The gradient of a factor that was broadcast along a new leading dimension and along one of size one is summed
    over the leading one only, and takes the first slice of the other.
    """

    rule = "gradients/op"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "multiply" and operands[0] is not operands[1]:
            for k in (0, 1):
                self._wrong(out[0], k, operands[k], operands[1 - k])
        return out

    def _wrong(self, out, k, mine, other):
        lead = out.dim() - mine.dim()
        inner = [d for d, n in enumerate(mine.shape) if n == 1 and out.shape[lead + d] > 1]
        if not mine.requires_grad or lead == 0 or not inner or out.numel() == 0:
            return

        def summed(gi, go):
            if gi[k] is not None:
                whole = (go[0] * other).sum(tuple(range(lead)))
                for d in inner:
                    whole = whole.narrow(d, 0, 1)
                gi[k] = whole.to(gi[k].dtype)
            return gi

        after(out, summed)


def witness_MultiplyInnerBroadcast(a):
    return vjp(a, "multiply", [[[2.0], [3.0]], np.arange(1.0, 13).reshape(2, 2, 3)])


class LogaddexpOverflow(Fault):
    """The derivative of logaddexp is exp(a) / (exp(a) + exp(b)) without subtraction of the maximum: NaN where exp
    overflows.
    """

    rule = "gradients/op"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "logaddexp":
            with torch.no_grad():
                over = torch.exp(torch.maximum(*operands)).isinf()
                nan = torch.zeros_like(out[0].detach()).masked_fill(over, torch.nan)
            shapes = [x.shape for x in operands]
            if bool(over.any()):
                after(
                    out[0],
                    lambda gi, go: [g if g is None else g + nan.sum_to_size(s).to(g.dtype) for g, s in zip(gi, shapes)],
                )
        return out


def witness_LogaddexpOverflow(a):
    return vjp(a, "logaddexp", [[100.0, 1.0], [99.0, 2.0]], dtype="float32")


class SigmoidExpandedCotangent(Fault):
    """The derivative of sigmoid reads an expanded cotangent as if it were dense, in the order of memory."""

    rule = "gradients/graph"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "sigmoid":
            before(out[0], self._dense)
        return out

    @staticmethod
    def _dense(go):
        expanded = [n > 1 and s == 0 for n, s in zip(go.shape, go.stride())]
        real = [n > 1 and s != 0 for n, s in zip(go.shape, go.stride())]
        if not (any(expanded) and any(real)):
            return go
        memory = go
        for d, yes in enumerate(expanded):
            if yes:
                memory = memory.narrow(d, 0, 1)
        memory = memory.reshape(-1)
        return memory[torch.arange(go.numel(), device=go.device) % memory.numel()].reshape(go.shape)


def witness_SigmoidExpandedCotangent(a):
    x = leaf_of(a, MATRIX[:2])
    y = applied(a, "sum", applied(a, "sigmoid", x), dim=1, keepdim=False)
    a.backward([y], [np.array([1.0, 5.0])], None)
    return held_by(a, x)


def _higher(adapter, op, data, order):
    x = leaf_of(adapter, data)
    y = applied(adapter, op, x)
    for _ in range(order):
        (y,) = adapter.grad([y], [x], [np.ones(len(data))], None, True, None, False)
    return adapter.read(y).tolist()


class _Tanh(Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return _TanhGrad.apply(g, y)


class _TanhGrad(Function):
    @staticmethod
    def forward(ctx, g, y):
        ctx.save_for_backward(g, y)
        return g * (1 - y * y)

    @staticmethod
    def backward(ctx, h):
        g, y = ctx.saved_tensors
        return h * (1 - y * y), -2 * y.detach() * g * h


class TanhThird(Fault):
    """The second derivative of tanh treats the saved result as a constant, so that the third derivative
    lacks a term.
    """

    rule = "higher/op-third"

    def apply(self, op, operands, attrs):
        if op == "tanh":
            return (_Tanh.apply(operands[0]),)
        return super().apply(op, operands, attrs)


def witness_TanhThird(a):
    return _higher(a, "tanh", [0.5, -0.25], 3)


class _Gelu(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.gelu(x, approximate="tanh")

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return _GeluGrad.apply(g, x)


class _GeluGrad(Function):
    @staticmethod
    def forward(ctx, g, x):
        ctx.save_for_backward(g, x)
        return torch.ops.aten.gelu_backward(g, x, approximate="tanh")

    @staticmethod
    def backward(ctx, h):
        g, x = ctx.saved_tensors
        density = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        return torch.ops.aten.gelu_backward(h, x, approximate="tanh"), g * h * density * (2 - x * x)


class GeluTanhSecond(Fault):
    """The second derivative of gelu ignores approximate='tanh': it is that of the exact gelu."""

    rule = "higher/op"

    def apply(self, op, operands, attrs):
        if op == "gelu_tanh":
            return (_Gelu.apply(operands[0]),)
        return super().apply(op, operands, attrs)


def witness_GeluTanhSecond(a):
    return _higher(a, "gelu_tanh", [0.5, -1.25], 2)
