"""Faults of refusals and of the state after an error."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import torch

from autograd_conformance.frameworks.adapter import HookRaised
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, held_by, leaf_of, legal, reached, walked


class StuckAfterError(Fault):
    """A backward call that ends with an error leaves the flag "inside a backward call" set, and later calls leave
    accumulation to an outer call that does not exist.
    """

    rule = "errors/recovers"

    def reset(self):
        super().reset()
        self.stuck = False

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        before = []
        if self.stuck and legal(roots, cotangents):
            into = reached(roots) if inputs is None else inputs
            before = [(x, x.grad, None if x.grad is None else x.grad.detach().clone()) for x in into]
        try:
            super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        except Exception as error:
            text = str(error)
            if isinstance(error, HookRaised) or "a second time" in text or "inplace operation" in text:
                self.stuck = True
            raise
        finally:
            for x, grad, values in before:
                if grad is not None and not torch.equal(grad, values):
                    with torch.no_grad():
                        grad.copy_(values)
                x.grad = grad


def witness_StuckAfterError(a):
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 4.0])
    roots = [applied(a, "square", x), applied(a, "square", y)]
    return [walked(a, roots[k], None, [1.0, 1.0]) for k in (0, 0, 1)], held_by(a, x, y)


class CotangentBroadcasts(Fault):
    """A cotangent of another shape is accepted if it broadcasts to the root's shape."""

    rule = "errors/cotangent-shape"

    def _fitted(self, roots, cotangents):
        fitted = []
        for r, c in zip(roots, cotangents, strict=True):
            if c is not None and tuple(c.shape) != tuple(r.shape):
                with suppress(ValueError):
                    c = np.broadcast_to(c, tuple(r.shape)).copy()
            fitted.append(c)
        return fitted

    def backward(self, roots, cotangents, *call, **options):
        super().backward(roots, self._fitted(roots, cotangents), *call, **options)

    def grad(self, roots, inputs, cotangents, *call):
        return super().grad(roots, inputs, self._fitted(roots, cotangents), *call)


def witness_CotangentBroadcasts(a):
    x = leaf_of(a, [1.0, 2.0])
    return walked(a, applied(a, "square", x), None, [2.0]), held_by(a, x)
