"""Faults of views: shared memory, and the effect of writes on histories."""

from __future__ import annotations

import numpy as np
import torch

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import MATRIX, after, applied, held_by, leaf_of, total, walked


class LastPieceIsACopy(Fault):
    """The last piece of a split is a copy, though all others are views."""

    rule = "views/shares"

    def apply(self, op, operands, attrs):
        made = super().apply(op, operands, attrs)
        if op in ("split", "chunk", "tensor_split", "unstack") and len(made) > 1:
            return (*made[:-1], made[-1].clone())
        return made


def witness_LastPieceIsACopy(a):
    x = leaf_of(a, [1.0, 2.0, 3.0], grad=False)
    _, last = applied(a, "split", x, sizes=(1, 2), dim=0)
    a.write("mul_scalar_", last, [], (("scalar", 10.0),))
    return a.read(x).tolist(), a.memory(last) == a.memory(x)


class NothingToDoAliases(Fault):
    """Padding by zero elements and tiling once return a view of their operand instead of a copy."""

    rule = "views/own-memory"

    def apply(self, op, operands, attrs):
        given, x = dict(attrs), operands[0]
        if (op == "pad" and not any(given["pad"])) or (
            op == "tile" and len(given["dims"]) <= x.dim() and set(given["dims"]) <= {1}
        ):
            return (x.view_as(x),)
        return super().apply(op, operands, attrs)


def witness_NothingToDoAliases(a):
    x = leaf_of(a, [1.0, 2.0], grad=False)
    y = applied(a, "tile", x, dims=(1,))
    a.write("add_scalar_", y, [], (("scalar", 1.0),))
    return [a.read(x).tolist(), a.memory(x) == a.memory(y)]


class WriteToViewOfView(Fault):
    """A recorded write to a view of a view changes the memory, but neither its own history nor that of its base."""

    rule = "views/history"

    def apply(self, op, operands, attrs):
        made = super().apply(op, operands, attrs)
        for r in made:
            if r._is_view() and operands and operands[0]._is_view() and r._base is operands[0]._base:
                r.view_of_view = True
        return made

    def write(self, op, target, operands, attrs):
        if getattr(target, "view_of_view", False) and target._is_view():
            base = target._base
            if torch.is_grad_enabled() and not (base.is_leaf and base.requires_grad):
                with torch.no_grad():
                    return super().write(op, target, operands, attrs)
        return super().write(op, target, operands, attrs)


def witness_WriteToViewOfView(a):
    x = leaf_of(a, [[1.0, 2.0], [3.0, 4.0]])
    y = applied(a, "multiply_scalar", x, scalar=2.0)
    v = applied(a, "select", applied(a, "select", y, dim=0, index=0), dim=0, index=1)
    a.write("mul_scalar_", v, [], (("scalar", 10.0),))
    return walked(a, total(a, y)), a.read(y).tolist(), held_by(a, x)


class ZeroViewUnrecorded(Fault):
    """Zeroing a view clears the memory but not the history: gradients still flow to the overwritten values."""

    rule = "views/history"

    def write(self, op, target, operands, attrs):
        if (
            op == "zero_"
            and target._is_view()
            and target.requires_grad
            and torch.is_grad_enabled()
            and not target._base.is_leaf
        ):
            target.detach().zero_()
            return
        super().write(op, target, operands, attrs)


def witness_ZeroViewUnrecorded(a):
    x = leaf_of(a, MATRIX)
    y = applied(a, "multiply_scalar", x, scalar=2.0)
    a.write("zero_", applied(a, "select", y, dim=0, index=1), [], ())
    a.backward([y], [np.ones((3, 3))], None)
    return held_by(a, x)


class CopyIntoTransposedView(Fault):
    """A value that is copied into a transposed view of a square matrix gets its gradient in the layout of the base."""

    rule = "writes/recorded"

    def write(self, op, target, operands, attrs):
        before = target._base.grad_fn if target._is_view() else None
        super().write(op, target, operands, attrs)
        if op == "copy_" and target._is_view() and target.dim() == 2 and target.shape[0] == target.shape[1] > 1:
            base, shape = target._base, target.shape
            if target.stride(0) < target.stride(1) and base.grad_fn is not before:
                after(
                    base,
                    lambda gi, go: [g.mT if k and g is not None and g.shape == shape else g for k, g in enumerate(gi)],
                )


def witness_CopyIntoTransposedView(a):
    x, s = leaf_of(a, [[1.0, 2.0], [3.0, 4.0]]), leaf_of(a, [[5.0, 6.0], [7.0, 8.0]])
    y = applied(a, "multiply_scalar", x, scalar=2.0)
    a.write("copy_", applied(a, "matrix_transpose", y), [s], ())
    a.backward([y], [np.array([[1.0, 2.0], [3.0, 4.0]])], None)
    return held_by(a, x, s)
