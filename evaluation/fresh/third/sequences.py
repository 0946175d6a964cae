"""Faults of state that earlier calls of a program leave."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, held_by, leaf_of, legal, total


class CachedOne(Fault):
    """The implicit cotangent is one cached tensor for each dtype: a leaf that is itself the root keeps it as its
    gradient, and additions to the gradient change the cotangent of all later calls.
    """

    rule = "sequences/history"

    def reset(self) -> None:
        super().reset()
        self.taken: dict[Any, Tensor] = {}

    def backward(
        self, roots: Any, cotangents: Any, retain_graph: Any, create_graph: bool = False, inputs: Any = None
    ) -> None:
        given = list(cotangents)
        lawful = legal(roots, cotangents)
        for k, root in enumerate(roots):
            if lawful and given[k] is None and root.dtype in self.taken:
                value = self.taken[root.dtype].detach().item()
                given[k] = None if value == 1.0 else np.full(tuple(root.shape), value, self.dtype(root))
        free = [r for r, c in zip(roots, cotangents, strict=True) if c is None and r.is_leaf and r.grad is None]
        super().backward(roots, given, retain_graph, create_graph, inputs)
        for root in free:
            if len(roots) == 1 and root.grad is not None:
                self.taken.setdefault(root.dtype, root.grad)


def witness_CachedOne(a: Any) -> Any:
    x, y = leaf_of(a, 3.0), leaf_of(a, [2.0])
    for _ in range(2):
        a.backward([x], [None], None)
    a.backward([total(a, applied(a, "exp", y))], [None], None)
    return held_by(a, x, y)
