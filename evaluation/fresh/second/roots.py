"""Faults of calls on several roots."""

from __future__ import annotations

import numpy as np

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, graph, held_by, leaf_of, legal


class RootInsideRoot(Fault):
    """A root that another root of the same call was computed from loses its own cotangent, which the arriving gradient
    overwrites.
    """

    rule = "gradients/several-roots"

    def _left(self, roots, cotangents):
        keep = list(range(len(roots)))
        if len(roots) > 1 and legal(roots, cotangents):
            for k, r in enumerate(roots):
                others = [q for q in roots if q.grad_fn is not r.grad_fn]
                if r.grad_fn is not None and others and r.grad_fn in graph(others):
                    keep.remove(k)
        return [roots[k] for k in keep], [cotangents[k] for k in keep]

    def backward(self, roots, cotangents, *call, **options):
        super().backward(*self._left(roots, cotangents), *call, **options)

    def grad(self, roots, inputs, cotangents, *call):
        roots, cotangents = self._left(roots, cotangents)
        return super().grad(roots, inputs, cotangents, *call)


def witness_RootInsideRoot(a):
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "square", x)
    z = applied(a, "exp", y)
    a.backward([z, y], [np.array([1.0, 2.0]), np.array([3.0, 4.0])], None)
    return held_by(a, x)
