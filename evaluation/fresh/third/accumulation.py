"""Faults of leaves' gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, held_by, leaf_of, reached, total


class ZeroByProduct(Fault):
    """Clearing to zeros multiplies a gradient by zero, so that infinite elements and NaN become NaN."""

    rule = "accumulation/zero-to-zeros"

    def zero_grad(self, leaves: Any, set_to_none: bool) -> None:
        wild = [x.grad for x in leaves if x.grad is not None and not x.grad.isfinite().all()]
        kept = [g.detach().clone() for g in wild]
        super().zero_grad(leaves, set_to_none)
        if not set_to_none:
            with torch.no_grad():
                for gradient, old in zip(wild, kept, strict=True):
                    gradient.copy_(old * 0.0)


def witness_ZeroByProduct(a: Any) -> Any:
    x = leaf_of(a, [0.0, 4.0])
    a.backward([total(a, applied(a, "sqrt", x))], [None], None)
    a.zero_grad([x], False)
    return held_by(a, x)


class FlatAddition(Fault):
    """A call adds to an assigned gradient in the order of its memory, which is wrong if the gradient is dense but not
    row-major.
    """

    rule = "accumulation/assigned"

    def backward(
        self, roots: Any, cotangents: Any, retain_graph: Any, create_graph: bool = False, inputs: Any = None
    ) -> None:
        olds = []
        for leaf in reached(roots, inputs):
            g = leaf.grad
            if g is None or g.ndim < 2 or g.is_contiguous() or create_graph:
                continue
            if g.permute(sorted(range(g.ndim), key=lambda d: -g.stride(d))).is_contiguous():
                olds.append((g, g.detach().clone()))
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        with torch.no_grad():
            for g, old in olds:
                added = (g - old).contiguous()
                g.copy_(old + added.as_strided(g.shape, g.stride()))


def witness_FlatAddition(a: Any) -> Any:
    x = leaf_of(a, [[1.0, 2.0], [3.0, 4.0]])
    other = leaf_of(a, [[8.0, 16.0], [32.0, 64.0]], grad=False)
    a.assign_grad(x, applied(a, "matrix_transpose", other))
    a.backward([applied(a, "multiply_scalar", x, scalar=1.0)], [np.array([[1.0, 2.0], [3.0, 4.0]])], None)
    return held_by(a, x)
