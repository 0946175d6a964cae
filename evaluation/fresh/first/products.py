"""Faults of products and of linear algebra."""

from __future__ import annotations

import numpy as np
import torch

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import after, vjp


class MmRemainder(Fault):
    """The gradient of the second matrix of a product sums over the rows in tiles of 16 and omits the last, incomplete
    tile.
    """

    rule = "gradients/op"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op in ("mm", "matmul") and operands[0].dim() == operands[1].dim() == 2:
            first, rows = operands[0], operands[0].shape[0]
            whole = rows - rows % 16
            if rows > 16 and whole < rows and operands[1].requires_grad:
                after(out[0], lambda gi, go: [gi[0], gi[1] if gi[1] is None else first[:whole].mT @ go[0][:whole]])
        return out


def witness_MmRemainder(a):
    return vjp(a, "mm", [np.arange(34.0).reshape(17, 2), [[1.0], [2.0]]])


class SolveTriangularUnmasked(Fault):
    """The gradient of the matrix of solve_triangular is not restricted to the triangle that the op reads."""

    rule = "gradients/op"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "solve_triangular":
            (a, b), upper, x = operands, dict(attrs)["upper"], out[0].detach()
            b = b.clone()  # as it is now, with its history

            def full(gi, go):
                if gi[0] is not None:
                    solved = torch.linalg.solve_triangular(a, b, upper=upper) if torch.is_grad_enabled() else x
                    rhs = torch.linalg.solve_triangular(a.mT, go[0], upper=not upper)
                    gi[0] = -(rhs @ solved.mT).sum_to_size(gi[0].shape)
                return gi

            after(out[0], full)
        return out


def witness_SolveTriangularUnmasked(a):
    return vjp(a, "solve_triangular", [[[2.0, 1.0], [0.0, 4.0]], [[1.0], [3.0]]], upper=True)
