"""Faults of no_grad and of frozen leaves."""

from __future__ import annotations

import numpy as np
import torch

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, held_by, leaf_of, legal, reached, walked


class NoGradWriteCuts(Fault):
    """A write under no_grad removes its target's history, as if the value were new."""

    rule = "modes/unrecorded-write"

    def write(self, op, target, operands, attrs):
        super().write(op, target, operands, attrs)
        if not torch.is_grad_enabled() and not target._is_view() and target.grad_fn is not None:
            target.detach_()


def witness_NoGradWriteCuts(a):
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "negative", x)
    with a.mode("no_grad"):
        a.write("mul_scalar_", y, [], (("scalar", 3.0),))
    return a.requires_grad(y), walked(a, y, None, [1.0, 1.0]), held_by(a, x)


class FrozenLeafAccumulates(Fault):
    """A graph that was recorded before a leaf was frozen still adds to the frozen leaf's gradient."""

    rule = "modes/frozen-leaf"

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        thawed = []
        if inputs is None and legal(roots, cotangents):
            thawed = [x for x in reached(roots) if not x.requires_grad]
        for x in thawed:
            x.requires_grad_(True)
        try:
            super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        finally:
            for x in thawed:
                x.requires_grad_(False)


def witness_FrozenLeafAccumulates(a):
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 4.0])
    z = applied(a, "multiply", x, y)
    a.set_requires_grad(x, False)
    a.backward([z], [np.ones(2)], None)
    return held_by(a, x, y)
