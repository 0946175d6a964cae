"""Faults of the backward pass: of roots, cotangents, and related operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import after, applied, graph, held_by, leaf_of, legal


class SymmetricCotangent(Fault):
    """The derivative of a matrix times its own transpose, computed as a rank-k update, assumes that the cotangent is
    symmetric like the value.
    """

    rule = "gradients/graph"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Any) -> Sequence[Tensor]:
        out = super().apply(op, operands, attrs)
        if op in ("matmul", "mm") and operands[0].ndim == operands[1].ndim == 2:
            x, y = operands
            same = x.data_ptr() == y.data_ptr() and x.shape == y.shape[::-1] and x.stride() == y.stride()[::-1]

            def change(gradients: list, cotangents: Sequence) -> list | None:
                if gradients[0] is None or gradients[1] is None:
                    return None
                return [gradients[0], gradients[0].mT]

            if same and (x is not y):
                after(out[0], change)
        return out


def witness_SymmetricCotangent(a: Any) -> Any:
    x = leaf_of(a, [[1.0, 2.0], [3.0, 5.0]])
    y = applied(a, "matmul", x, applied(a, "matrix_transpose", x))
    a.backward([y], [np.array([[1.0, 2.0], [0.0, 1.0]])], None)
    return held_by(a, x)


class SlotsByNode(Fault):
    """The cotangents of roots are collected by node instead of by the node's result: those of two results of one op
    with the same shape all go to the first.
    """

    rule = "gradients/several-roots"

    def backward(
        self, roots: Any, cotangents: Any, retain_graph: Any, create_graph: bool = False, inputs: Any = None
    ) -> None:
        given = list(cotangents)
        if legal(roots, cotangents):
            for k, root in enumerate(roots):
                for j, other in enumerate(roots[:k]):
                    if (
                        root.grad_fn is not None
                        and root.grad_fn is other.grad_fn
                        and root.output_nr != other.output_nr
                        and (root.shape, root.dtype) == (other.shape, other.dtype)
                    ):
                        one = np.ones(tuple(root.shape), self.dtype(root))
                        moved = one if given[k] is None else given[k]
                        given[j] = (one if given[j] is None else given[j]) + moved
                        given[k] = np.zeros_like(moved)
                        break
        super().backward(roots, given, retain_graph, create_graph, inputs)


def witness_SlotsByNode(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0, 3.0, 4.0])
    first, second = applied(a, "split", x, sizes=(2, 2), dim=0)
    a.backward([first, second], [np.array([1.0, 2.0]), np.array([3.0, 4.0])], None)
    return held_by(a, x)


class CotangentAsBuffer(Fault):
    """If one root was computed from another, the gradient that arrives at the inner root is added in place to the
    caller's cotangent for it.
    """

    rule = "gradients/cotangent-kept"

    def backward(
        self, roots: Any, cotangents: Any, retain_graph: Any, create_graph: bool = False, inputs: Any = None
    ) -> None:
        handles, sums = [], []
        for root, cotangent in zip(roots, cotangents, strict=True):
            others = [r for r in roots if r is not root and r.grad_fn is not root.grad_fn]
            if cotangent is None or root.grad_fn is None or root.grad_fn not in graph(others):
                continue

            def seen(arriving: Sequence, into: np.ndarray = cotangent, at: int = root.output_nr) -> None:
                if arriving[at] is not None:
                    sums.append((into, self.read(arriving[at].detach())))

            handles.append(root.grad_fn.register_prehook(seen))
        try:
            super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        finally:
            for handle in handles:
                handle.remove()
        for into, value in sums:
            into[...] = value


def witness_CotangentAsBuffer(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "exp", x)
    z = applied(a, "multiply", y, y)
    given = [np.array([1.0, 2.0]), np.array([1.0, 1.0])]
    a.backward([y, z], given, None)
    return [c.tolist() for c in given]
