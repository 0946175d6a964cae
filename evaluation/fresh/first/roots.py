"""Faults of a call's roots and cotangents."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, graph, held_by, leaf_of, outcome, total, walked


class RootTwiceCountsOnce(Fault):
    """A root that is listed twice in one call counts once, with its first cotangent."""

    rule = "gradients/several-roots"

    @staticmethod
    def _once(roots: Any, cotangents: Any) -> tuple[list[Any], list[Any]]:
        first = {id(r): k for k, r in reversed(list(enumerate(roots)))}
        kept = sorted(first.values())
        return [roots[k] for k in kept], [cotangents[k] for k in kept]

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        super().backward(*self._once(roots, cotangents), retain_graph, create_graph, inputs)

    def grad(self, roots, inputs, cotangents, *rest):
        roots, cotangents = self._once(roots, cotangents)
        return super().grad(roots, inputs, cotangents, *rest)


def witness_RootTwiceCountsOnce(a):
    x = leaf_of(a, [1.0, 2.0])
    y = total(a, applied(a, "multiply", x, x))
    a.backward([y, y], [None, None], None)
    return held_by(a, x)


class InnerRootLosesItsSeed(Fault):
    """If one root of a call was computed from another root, the gradient that arrives at the inner root overwrites its
    own cotangent.
    """

    rule = "gradients/several-roots"

    @staticmethod
    def _seeds(roots: Any, cotangents: Any) -> list[Any]:
        made = list(cotangents)
        for k, root in enumerate(roots):
            node = root.grad_fn
            if node is None:
                continue
            if any(other.grad_fn is not node and node in graph([other]) for other in roots):
                if made[k] is not None:
                    made[k] = np.zeros_like(made[k])
                elif root.numel() == 1:
                    made[k] = np.zeros_like(root.numpy(force=True))
        return made

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        super().backward(roots, self._seeds(roots, cotangents), retain_graph, create_graph, inputs)

    def grad(self, roots, inputs, cotangents, *rest):
        return super().grad(roots, inputs, self._seeds(roots, cotangents), *rest)


def witness_InnerRootLosesItsSeed(a):
    x = leaf_of(a, [1.0, 2.0])
    y = total(a, applied(a, "multiply", x, x))
    z = applied(a, "multiply_scalar", y, scalar=3.0)
    a.backward([y, z], [None, None], None)
    return held_by(a, x)


class SeedsStayQueued(Fault):
    """A call on several roots that is refused because of a later one leaves the earlier roots in the queue of the next
    call.
    """

    rule = "errors/recovers"

    def reset(self):
        super().reset()
        self.queue: list[tuple[torch.Tensor, np.ndarray | None]] = []

    @staticmethod
    def _bad(root: torch.Tensor, cotangent: np.ndarray | None) -> bool:
        if not root.requires_grad:
            return True
        return root.numel() != 1 if cotangent is None else cotangent.shape != tuple(root.shape)

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        bad = next((k for k, (r, c) in enumerate(zip(roots, cotangents)) if self._bad(r, c)), None)
        if bad is not None:
            own = [(r, None if c is None else c.copy()) for r, c in zip(roots[:bad], cotangents[:bad])]
            try:
                super().backward(roots, cotangents, retain_graph, create_graph, inputs)  # raises
            finally:
                self.queue += own
            return
        queued, self.queue = self.queue, []
        roots = [*(r for r, _ in queued), *roots]
        cotangents = [*(c for _, c in queued), *cotangents]
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)


def witness_SeedsStayQueued(a):
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 4.0])
    fx, fy = total(a, applied(a, "square", x)), applied(a, "square", y)
    refused = outcome(a, lambda: a.backward([fx, fy], [None, None], None))
    return refused, walked(a, total(a, fy)), held_by(a, x, y)
