"""Faults of reductions and of ops along a dimension."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import MATRIX, after, applied, held_by, leaf_of, vjp


def _dims(dim: Any, count: int) -> tuple[int, ...]:
    if dim is None or dim == ():
        return tuple(range(count))
    return tuple(d % count if count else 0 for d in (dim if isinstance(dim, tuple) else (dim,)))


class ProdDimZeros(Fault):
    """The derivative of prod along a dimension counts zeros in the whole tensor: with two zeros, slices with one zero
    each get zero gradients.
    """

    rule = "gradients/op"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "prod_dim" and operands[0].dim():
            zero = operands[0].detach() == 0
            if int(zero.sum()) > 1:
                some = zero.any(dim=dict(attrs)["dim"], keepdim=True).expand(zero.shape)
                after(out[0], lambda gi, go: [g if g is None else g.masked_fill(some, 0.0) for g in gi])
        return out


def witness_ProdDimZeros(a):
    return vjp(a, "prod_dim", [[[0.0, 2.0], [3.0, 0.0]]], dim=1, keepdim=False)


class StdMeanBothResults(Fault):
    """If a call reaches both results of std_mean, the cotangent of the mean is dropped."""

    rule = "gradients/several-results"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "std_mean":
            given, shape = dict(attrs), operands[0].shape
            dims = _dims(given["dim"], len(shape))
            kept = [1 if d in dims else n for d, n in enumerate(shape)]
            count = math.prod(shape[d] for d in dims) if shape else 1

            def dropped(gi, go):
                if gi[0] is not None and go[0] is not None and go[1] is not None:
                    gi[0] = gi[0] - (go[1].reshape(kept) / count).expand(shape)
                return gi

            after(out[0], dropped)
        return out


def witness_StdMeanBothResults(a):
    x = leaf_of(a, MATRIX)
    out = applied(a, "std_mean", x, dim=(1,), keepdim=False, correction=1)
    a.backward(list(out), [np.ones(3), np.ones(3)], None)
    return held_by(a, x)


class MeanForgetsUnsqueeze(Fault):
    """The derivative of mean along the last dimension without keepdim does not insert that dimension again. For a
    square matrix, the gradient is spread along the wrong dimension without an error.
    """

    rule = "gradients/op"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "mean":
            given, shape = dict(attrs), operands[0].shape
            square = len(shape) == 2 and shape[0] == shape[1] > 1
            if square and not given["keepdim"] and _dims(given["dim"], 2) == (1,):
                after(out[0], lambda gi, go: [g if g is None else g.mT for g in gi])
        return out


def witness_MeanForgetsUnsqueeze(a):
    return vjp(a, "mean", [MATRIX], dim=1, keepdim=False)


class SortLong(Fault):
    """For more than 16 elements, the derivative of sort applies the permutation instead of its inverse."""

    rule = "gradients/op"

    def apply(self, op, operands, attrs):
        given = dict(attrs)
        if op != "sort" or operands[0].dim() == 0 or operands[0].shape[given["dim"]] <= 16:
            return super().apply(op, operands, attrs)
        with torch.no_grad():
            order = torch.sort(operands[0], dim=given["dim"], descending=given["descending"]).indices
        out = super().apply(op, operands, attrs)
        after(out[0], lambda gi, go: [g if g is None else go[0].gather(given["dim"], order) for g in gi])
        return out


def witness_SortLong(a):
    return vjp(a, "sort", [[(7 * k) % 17 for k in range(17)]], dim=0, descending=False)


class CumsumBlocks(Fault):
    """The derivative of cumsum sums backwards in blocks of 16 elements, without carrying the sum from one block to the
    next.
    """

    rule = "gradients/op"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        dim = dict(attrs).get("dim")
        if op == "cumulative_sum" and operands[0].dim() and operands[0].shape[dim] > 16:
            after(
                out[0],
                lambda gi, go: [
                    g
                    if g is None
                    else torch.cat([b.flip(dim).cumsum(dim).flip(dim) for b in go[0].split(16, dim)], dim).to(g.dtype)
                    for g in gi
                ],
            )
        return out


def witness_CumsumBlocks(a):
    return vjp(a, "cumulative_sum", [np.arange(17.0)], dim=0)
