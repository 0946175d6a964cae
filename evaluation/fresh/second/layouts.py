"""Faults of derivatives that slice values, join them or read them in another order."""

from __future__ import annotations

import math

import numpy as np
import torch

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import after, applied, held_by, leaf_of, vjp


class ConcatSameValue(Fault):
    """The derivative of a concatenation or a stack stores the pieces by operand, so that a value that is joined to
    itself gets only the last piece.
    """

    rule = "gradients/same-argument"

    def apply(self, op, operands, attrs):
        made = super().apply(op, operands, attrs)
        if op in ("concat", "concat_three", "stack", "stack_three"):
            lost = [k for k, x in enumerate(operands) if any(x is y for y in operands[k + 1 :])]

            def last(grads, _):
                return [torch.zeros_like(g) if k in lost and g is not None else g for k, g in enumerate(grads)]

            if lost:
                after(made[0], last)
        return made


def witness_ConcatSameValue(a):
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 4.0])
    z = applied(a, "concat_three", x, y, x, dim=0)
    a.backward([z], [np.arange(1.0, 7.0)], None)
    return held_by(a, x, y)


class UnfoldAssigns(Fault):
    """The derivative of unfold assigns each window's gradient, so that where windows overlap only the last
    one counts.
    """

    rule = "gradients/op"

    def apply(self, op, operands, attrs):
        made = super().apply(op, operands, attrs)
        if op == "unfold":
            x, given = operands[0], dict(attrs)
            size, step = given["size"], given["step"]
            dim = given["dimension"] % max(x.ndim, 1)
            if x.ndim and step < size:
                count, length, shape = made[0].shape[dim], x.shape[dim], x.shape

                def back(grads, outs):
                    if grads[0] is None or outs[0] is None:
                        return None
                    windows = outs[0].movedim(dim, 0).movedim(-1, 1)  # window, place in it, the rest
                    rows = []
                    for place in range(length):
                        last = min(place // step, count - 1)
                        inside = place - last * step
                        row = windows[last, inside] if inside < size else torch.zeros_like(windows[0, 0])
                        rows.append(row)
                    return [torch.stack(rows).movedim(0, dim).reshape(shape)]

                after(made[0], back)
        return made


def witness_UnfoldAssigns(a):
    return vjp(a, "unfold", [[1.0, 2.0, 3.0, 4.0]], dimension=0, size=2, step=1)


class ReadsMemoryOrder(Fault):
    """The derivatives of gelu and silu read the saved operand in the order of its memory, which differs for a
    transposed value.
    """

    rule = "gradients/graph"

    def apply(self, op, operands, attrs):
        made = super().apply(op, operands, attrs)
        x = operands[0]
        if op in ("gelu", "silu") and x.ndim > 1 and not x.is_contiguous():
            order = sorted(range(x.ndim), key=lambda d: -x.stride(d))
            if x.permute(order).is_contiguous():

                def back(grads, outs):
                    if grads[0] is None or outs[0] is None:
                        return None
                    read = x.permute(order).reshape(x.shape)
                    if op == "silu":
                        s = torch.sigmoid(read)
                        slope = s * (1 + read * (1 - s))
                    else:
                        density = torch.exp(-read * read / 2) / math.sqrt(2 * math.pi)
                        slope = 0.5 * (1 + torch.erf(read / math.sqrt(2))) + read * density
                    return [outs[0] * slope]

                after(made[0], back)
        return made


def witness_ReadsMemoryOrder(a):
    x = leaf_of(a, [[1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]])
    y = applied(a, "silu", applied(a, "matrix_transpose", x))
    a.backward([y], [np.ones((3, 2))], None)
    return held_by(a, x)


class OverlappingSlices(Fault):
    """Slices write their gradients into one buffer of the value, so that where two slices overlap only the one
    processed last counts.
    """

    rule = "gradients/fan-out"

    def reset(self):
        super().reset()
        self.cut, self.buffers = [], {}

    def apply(self, op, operands, attrs):
        made = super().apply(op, operands, attrs)
        if op in ("slice", "narrow", "select") and made[0].grad_fn is not None:
            x = operands[0]
            with torch.no_grad():
                places = torch.arange(x.numel()).reshape(x.shape)
                mask = torch.zeros(x.numel(), dtype=torch.bool)
                mask[super().apply(op, [places], attrs)[0].reshape(-1)] = True
                mask = mask.reshape(x.shape).to(x.device)
            key = (id(x), x._version)
            self.cut.append(x)  # its id is its own for as long as the program runs
            buffers = self.buffers

            def back(grads, _):
                g = grads[0]
                if g is None:
                    return None
                before = buffers.get(key)
                buffers[key] = g if before is None else torch.where(mask, g, before)
                return None if before is None else [g - torch.where(mask, before, torch.zeros_like(before))]

            after(made[0], back)
        return made

    def backward(self, *call, **options):
        self.buffers.clear()
        try:
            super().backward(*call, **options)
        finally:
            self.buffers.clear()

    def grad(self, *call):
        self.buffers.clear()
        try:
            return super().grad(*call)
        finally:
            self.buffers.clear()


def witness_OverlappingSlices(a):
    x = leaf_of(a, [1.0, 2.0, 3.0, 4.0])
    y = applied(a, "square", x)
    left, right = (applied(a, "slice", y, start=k, stop=k + 3, step=1) for k in range(2))
    a.backward([applied(a, "multiply", left, right)], [np.array([1.0, 2.0, 3.0])], None)
    return held_by(a, x)
