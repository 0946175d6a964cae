"""Faults of ops that move elements: reshaping, joining, splitting and indexing."""

from __future__ import annotations

import numpy as np
import torch

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import MATRIX, after, applied, before, held_by, leaf_of, vjp


class ReshapeTransposed(Fault):
    """A reshape that has to copy a permuted operand returns its gradient in the order of the operand's memory."""

    rule = "gradients/graph"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "reshape":
            x, made = operands[0], out[0]
            copied = x.numel() > 1 and made.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
            if copied and not x.is_contiguous() and all(s for s, n in zip(x.stride(), x.shape) if n > 1):
                strides, shape = x.stride(), x.shape
                perm = sorted(range(len(shape)), key=lambda d: -strides[d])
                inverse = [perm.index(d) for d in range(len(shape))]
                before(made, lambda go: go.reshape([shape[p] for p in perm]).permute(inverse).reshape(go.shape))
        return out


def witness_ReshapeTransposed(a):
    x = leaf_of(a, MATRIX[:2])
    y = applied(a, "reshape", applied(a, "matrix_transpose", x), shape=(6,))
    a.backward([y], [np.arange(6.0)], None)
    return held_by(a, x)


class BroadcastToEmpty(Fault):
    """The gradient of a value that was broadcast to an empty tensor is a sum without elements, which is never written:
    it is NaN.
    """

    rule = "gradients/op"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "broadcast_to" and out[0].numel() == 0 and operands[0].numel():
            after(out[0], lambda gi, go: [g if g is None else g + torch.nan for g in gi])
        return out


def witness_BroadcastToEmpty(a):
    return vjp(a, "broadcast_to", [[[1.0, 2.0]]], shape=(0, 2))


class UnfoldOverlap(Fault):
    """The derivative of unfold assigns each window's cotangent instead of adding it: where windows overlap, only the
    last one counts.
    """

    rule = "gradients/op"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        given, x = dict(attrs), operands[0]
        if op == "unfold" and x.dim():
            dim, size, step = given["dimension"] % x.dim(), given["size"], given["step"]
            length, windows = x.shape[dim], out[0].shape[dim]
            if step >= size or windows < 2:
                return out

            def last(gi, go):
                if gi[0] is None:
                    return gi
                slices = []
                for p in range(length):
                    w = min(p // step, windows - 1)
                    inside = p - w * step < size
                    slices.append(go[0].select(-1, p - w * step).select(dim, w) if inside else gi[0].select(dim, p))
                gi[0] = torch.stack(slices, dim)
                return gi

            after(out[0], last)
        return out


def witness_UnfoldOverlap(a):
    return vjp(a, "unfold", [[1.0, 2.0, 3.0, 4.0]], dimension=0, size=2, step=1)


class DiagonalNegativeOffset(Fault):
    """The derivative of diagonal ignores the sign of the offset: the cotangent of a lower diagonal of a square matrix
    goes to the upper one.
    """

    rule = "gradients/op"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "diagonal" and dict(attrs)["offset"] < 0 and operands[0].shape[-1] == operands[0].shape[-2]:
            after(out[0], lambda gi, go: [g if g is None else g.mT for g in gi])
        return out


def witness_DiagonalNegativeOffset(a):
    return vjp(a, "diagonal", [MATRIX], offset=-1)


class JoinSameTensor(Fault):
    """cat and stack store their operands' gradients by operand: an operand at two positions gets only the gradient of
    the last position.
    """

    rule = "gradients/same-argument"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op in ("concat", "concat_three", "stack", "stack_three"):
            ids = [id(x) for x in operands]
            again = [ids[k] in ids[k + 1 :] for k in range(len(ids))]
            if any(again):
                after(
                    out[0],
                    lambda gi, go: [torch.zeros_like(g) if g is not None and a else g for g, a in zip(gi, again)],
                )
        return out


def witness_JoinSameTensor(a):
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "concat", x, x, dim=0)
    a.backward([y], [np.arange(1.0, 5)], None)
    return held_by(a, x)


class SplitFirstUnused(Fault):
    """The derivative of split joins the cotangents of the used pieces and appends zeros, even if an earlier piece was
    not used.
    """

    rule = "gradients/several-results"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "split" and len(out) > 1:
            dim = dict(attrs)["dim"]
            shapes = [piece.shape for piece in out]

            def joined(gi, go):
                used = [g is not None for g in go]
                if gi[0] is None or used == sorted(used, reverse=True):
                    return gi
                there = [g for g in go if g is not None]
                gone = [gi[0].new_zeros(s) for g, s in zip(go, shapes) if g is None]
                gi[0] = torch.cat(there + gone, dim)
                return gi

            after(out[0], joined)
        return out


def witness_SplitFirstUnused(a):
    return vjp(a, "split", [[1.0, 2.0, 3.0]], result=1, sizes=(1, 2), dim=0)


class IndexNegative(Fault):
    """The derivative of indexing with a tensor ignores negative indices, which the op itself counts from the end."""

    rule = "gradients/op"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "index":
            index = torch.tensor(dict(attrs)["index"], device=self.device)
            if index.numel() and bool((index < 0).any()):
                rows = (index < 0).reshape(index.shape + (1,) * (out[0].dim() - index.dim()))
                before(out[0], lambda go: go.masked_fill(rows, 0.0))
        return out


def witness_IndexNegative(a):
    return vjp(a, "index", [MATRIX], index=(0, -1))
