"""Faults of leaves' gradients: how contributions reach a leaf."""

from __future__ import annotations

import numpy as np
import torch

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, graph, held_by, leaf_of, legal, reached


class ZerosForNone(Fault):
    """Clearing to zeros also gives zeros to leaves without a gradient."""

    rule = "accumulation/zero-to-zeros"

    def zero_grad(self, leaves, set_to_none):
        super().zero_grad(leaves, set_to_none)
        for leaf in leaves:
            if not set_to_none and leaf.grad is None and leaf.is_leaf and leaf.requires_grad:
                leaf.grad = torch.zeros_like(leaf)


def witness_ZerosForNone(a):
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 4.0])
    a.backward([applied(a, "square", x)], [np.ones(2)], None)
    a.zero_grad([x, y], False)
    return held_by(a, x, y)


class AddSharesCotangent(Fault):
    """Two leaves that are added keep the one gradient tensor that the sum passes to both."""

    rule = "accumulation/own-object"

    def reset(self):
        super().reset()
        self.sums = []

    def apply(self, op, operands, attrs):
        made = super().apply(op, operands, attrs)
        if op == "add" and made[0].grad_fn is not None:
            a, b = operands
            alike = a is not b and a.shape == b.shape and a.dtype == b.dtype
            if alike and all(x.is_leaf and x.requires_grad for x in (a, b)):
                self.sums.append((made[0].grad_fn, a, b))
        return made

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        nodes = graph(roots) if self.sums else []
        both = [(a, b) for node, a, b in self.sums if node in nodes and a.grad is None and b.grad is None]
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        for a, b in both:
            if not create_graph and a.grad is not None and b.grad is not None and torch.equal(a.grad, b.grad):
                b.grad = a.grad


def witness_AddSharesCotangent(a):
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 4.0])
    for _ in range(2):
        a.backward([applied(a, "add", x, y)], [np.array([1.0, 2.0])], None)
    return held_by(a, x, y)


class CreateGraphReplaces(Fault):
    """A backward call with create_graph replaces a leaf's gradient instead of adding to it."""

    rule = "accumulation/adds"

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        old = []
        if create_graph and legal(roots, cotangents):
            old = [(x, x.grad) for x in reached(roots, inputs) if x.grad is not None]
            for x, _ in old:
                x.grad = None
        try:
            super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        finally:
            for x, grad in old:
                if x.grad is None:
                    x.grad = grad


def witness_CreateGraphReplaces(a):
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "square", x)
    a.backward([y], [np.ones(2)], True)
    a.backward([y], [np.ones(2)], None, create_graph=True)
    return held_by(a, x)
