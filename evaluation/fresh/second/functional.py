"""Faults of the functional form."""

from __future__ import annotations

import numpy as np
import torch

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, held_by, leaf_of, legal, node_of, outcome, passed, reached

UNUSED = "One of the differentiated Tensors appears to not have been used in the graph."
"""PyTorch's message about an input that no root depends on."""


class DuplicateInputOnce(Fault):
    """An input that is listed twice gets its gradient at the first position and zeros at the other."""

    rule = "functional/duplicates"

    def grad(self, roots, inputs, *call):
        made = list(super().grad(roots, inputs, *call))
        for k, x in enumerate(inputs):
            if made[k] is not None and any(x is y for y in inputs[:k]):
                made[k] = torch.zeros_like(made[k])
        return tuple(made)


def witness_DuplicateInputOnce(a):
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 4.0])
    made = a.grad([applied(a, "multiply", x, y)], [x, y, x], [np.ones(2)], None, False, None, False)
    return [a.read(g).tolist() for g in made]


class OtherLeavesAccumulate(Fault):
    """The functional form runs a backward call and restores the `.grad` of its inputs, but not that of other leaves."""

    rule = "functional/no-accumulation"

    def grad(self, roots, inputs, cotangents, retain_graph, create_graph, allow_unused, materialize_grads):
        others = []
        if legal(roots, cotangents):
            others = [x for x in reached(roots) if x.requires_grad and not any(x is i for i in inputs)]
        unused = True if others and not materialize_grads else allow_unused
        made = super().grad(
            roots, [*inputs, *others], cotangents, retain_graph, create_graph, unused, materialize_grads
        )
        if not allow_unused and any(g is None for g in made[: len(inputs)]):
            raise RuntimeError(UNUSED)
        for x, g in zip(others, made[len(inputs) :]):
            if g is not None:
                x.grad = g.detach().clone() if x.grad is None else x.grad + g.detach()
        return made[: len(inputs)]


def witness_OtherLeavesAccumulate(a):
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 4.0])
    a.grad([applied(a, "multiply", x, y)], [x], [np.ones(2)], None, False, None, False)
    return held_by(a, x, y)


class UnusedByOneRoot(Fault):
    """The functional form checks for unused inputs root by root, so that it refuses an input that only some of several
    roots depend on.
    """

    rule = "functional/value"

    def grad(self, roots, inputs, cotangents, retain_graph, create_graph, allow_unused, materialize_grads):
        if len(roots) > 1 and legal(roots, cotangents) and not allow_unused and not materialize_grads:
            for r in roots:
                nodes = passed([r])
                if any(i.requires_grad and node_of(i) not in nodes for i in inputs):
                    raise RuntimeError(UNUSED)
        return super().grad(roots, inputs, cotangents, retain_graph, create_graph, allow_unused, materialize_grads)


def witness_UnusedByOneRoot(a):
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 4.0])
    roots = [applied(a, "multiply", x, y), applied(a, "square", x)]
    return outcome(a, lambda: a.grad(roots, [x, y], [np.ones(2), np.ones(2)], None, False, None, False))
