"""Faults of leaves' gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, held_by, leaf_of, reached, total


class LazyZero(Fault):
    """After clearing to zeros, the next call overwrites the gradient instead of adding, even if a gradient was assigned
    in between.
    """

    rule = "accumulation/assigned"

    def reset(self) -> None:
        super().reset()
        self.cleared: dict[int, tuple[Tensor, Tensor]] = {}

    def zero_grad(self, leaves: Sequence[Tensor], set_to_none: bool) -> None:
        super().zero_grad(leaves, set_to_none)
        for leaf in leaves:
            if leaf.grad is None:
                self.cleared.pop(id(leaf), None)
            else:
                self.cleared[id(leaf)] = (leaf, leaf.grad)

    def backward(
        self,
        roots: Sequence[Tensor],
        cotangents: Sequence[np.ndarray | None],
        retain_graph: bool | None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        marked = [leaf for leaf in reached(roots, inputs) if id(leaf) in self.cleared and leaf.grad is not None]
        held = [(leaf, leaf.grad) for leaf in marked if leaf.grad is not self.cleared[id(leaf)][1]]
        for leaf, gradient in held:
            leaf.grad = torch.zeros_like(gradient)
        try:
            super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        except Exception:
            for leaf, gradient in held:
                leaf.grad = gradient
            raise
        for leaf in marked:
            del self.cleared[id(leaf)]


def witness_LazyZero(a: Any) -> Any:
    x, one = leaf_of(a, [1.0, 2.0]), leaf_of(a, [1.0, 1.0], grad=False)
    a.backward([total(a, x)], [None], None)
    a.zero_grad([x], False)
    a.assign_grad(x, one)
    a.backward([total(a, x)], [None], None)
    return held_by(a, x)


class AddsToCopy(Fault):
    """A call adds to a dense copy of a gradient that is not dense in memory, and the leaf does not get the copy."""

    rule = "accumulation/adds"

    def backward(
        self,
        roots: Sequence[Tensor],
        cotangents: Sequence[np.ndarray | None],
        retain_graph: bool | None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | None = None,
    ) -> None:
        strided = [x for x in reached(roots, inputs) if x.grad is not None and not x.grad.is_contiguous()]
        held = [(x, x.grad, x.grad.clone()) for x in strided]
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        for leaf, gradient, values in held:
            if leaf.grad is gradient:
                with torch.no_grad():
                    gradient.copy_(values)
            else:
                leaf.grad = gradient


def witness_AddsToCopy(a: Any) -> Any:
    x = leaf_of(a, [[1.0, 2.0], [3.0, 4.0]])
    a.assign_grad(x, applied(a, "matrix_transpose", leaf_of(a, [[5.0, 6.0], [7.0, 8.0]], grad=False)))
    a.backward([total(a, x)], [None], None)
    return held_by(a, x)
