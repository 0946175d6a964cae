"""Faults of freed and of retained graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import FREED, applied, graph, held_by, leaf_of, legal, passed, retains, saves, walked


class RetainedForever(Fault):
    """A node that was retained once is never freed again, since its mark is never removed."""

    rule = "lifetime/last-call-frees"

    def reset(self):
        super().reset()
        self.marked: set[Any] = set()

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        nodes = passed([r for r in roots if r.requires_grad], inputs)
        kept = retains(retain_graph, create_graph)
        if not kept and any(n in self.marked for n in nodes):
            retain_graph = True
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        if kept:
            self.marked.update(nodes)


def witness_RetainedForever(a):
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "square", x)
    return [walked(a, y, retain, [1.0, 1.0]) for retain in (True, False, False)], held_by(a, x)


class FreedAtRoot(Fault):
    """Only the root is checked for a freed graph, so that a call from a new root uses the freed part as if
    it existed.
    """

    rule = "lifetime/freed-subgraph-raises"

    def reset(self):
        super().reset()
        self.gone: set[Any] = set()

    def _ask(self, roots):
        if any(r.grad_fn is not None and r.grad_fn in self.gone for r in roots):
            raise RuntimeError(FREED)

    def _note(self, roots, inputs, kept):
        if not kept:
            for r in roots:
                if r.grad_fn is not None and any(saves(n) for n in passed([r], inputs)):
                    self.gone.add(r.grad_fn)

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        if legal(roots, cotangents):
            self._ask(roots)
        super().backward(roots, cotangents, True, create_graph, inputs)
        self._note(roots, inputs, retains(retain_graph, create_graph))

    def grad(self, roots, inputs, cotangents, retain_graph, create_graph, allow_unused, materialize_grads):
        if legal(roots, cotangents):
            self._ask(roots)
        made = super().grad(roots, inputs, cotangents, True, create_graph, allow_unused, materialize_grads)
        self._note(roots, inputs, retains(retain_graph, create_graph))
        return made


def witness_FreedAtRoot(a):
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "square", x)
    a.backward([y], [np.ones(2)], None)
    z = applied(a, "negative", y)
    return [walked(a, root, None, [1.0, 1.0]) for root in (y, z)], held_by(a, x)


class RetainsFirstRoot(Fault):
    """A call on several roots with retain_graph=True retains only the graph of the first root."""

    rule = "lifetime/retained-works"

    def reset(self):
        super().reset()
        self.gone: set[Any] = set()

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        fine = legal(roots, cotangents)
        nodes = passed(roots, inputs) if fine else []
        if any(n in self.gone for n in nodes):
            raise RuntimeError(FREED)
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        if fine and len(roots) > 1 and retains(retain_graph, create_graph):
            first = graph(roots[:1])
            self.gone.update(n for n in nodes if n not in first and saves(n))

    def grad(self, roots, inputs, cotangents, *call):
        if legal(roots, cotangents) and any(n in self.gone for n in passed(roots, inputs)):
            raise RuntimeError(FREED)
        return super().grad(roots, inputs, cotangents, *call)


def witness_RetainsFirstRoot(a):
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 4.0])
    roots = [applied(a, "square", x), applied(a, "exp", y)]
    a.backward(roots, [np.ones(2), np.ones(2)], True)
    return [walked(a, root, None, [1.0, 1.0]) for root in roots], held_by(a, x, y)
