"""Faults of grad modes and of create_graph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from autograd_conformance.frameworks.adapter import HookRaised
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, held_by, leaf_of, outcome, reached, retains, total, walked


class ModeStaysAfterError(Fault):
    """A grad mode block that ends by an exception does not restore the previous mode."""

    rule = "modes/restored"

    def reset(self):
        torch.set_grad_enabled(True)
        super().reset()

    def saved_tensor_counter(self):
        torch.set_grad_enabled(True)
        return super().saved_tensor_counter()

    @contextmanager
    def mode(self, name: str) -> Iterator[None]:
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(name == "enable_grad")
        yield
        torch.set_grad_enabled(before)  # not in a finally


def witness_ModeStaysAfterError(a):
    x = leaf_of(a, [1.0, 2.0])
    try:
        with a.mode("no_grad"):
            raise HookRaised
    except HookRaised:
        pass
    seen = a.requires_grad(applied(a, "square", x))
    a.reset()
    return seen


class HeldHistoryIsDropped(Fault):
    """A call with create_graph that adds to a leaf's gradient keeps only the new contribution's history."""

    rule = "higher/differentiable"

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        if create_graph:
            for leaf in reached(roots, inputs):
                if leaf.grad is not None and leaf.grad.grad_fn is not None:
                    leaf.grad = leaf.grad.detach()
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)


def witness_HeldHistoryIsDropped(a):
    x = leaf_of(a, [1.0, 2.0])
    for op in ("square", "sin"):
        a.backward([total(a, applied(a, op, x))], [None], None, create_graph=True)
    g = a.gradient(x)
    a.zero_grad([x], True)
    return walked(a, total(a, g)), held_by(a, x)


class CreateGraphStaysOn(Fault):
    """create_graph is a flag of the engine that is not reset if a call raises, so that the next plain call returns
    gradients with a history.
    """

    rule = "higher/plain-raises"

    def reset(self):
        super().reset()
        self.creating = False

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        retain_graph = retains(retain_graph, create_graph)
        self.creating = self.creating or create_graph
        super().backward(roots, cotangents, retain_graph, self.creating, inputs)
        self.creating = False

    def grad(self, roots, inputs, cotangents, retain_graph, create_graph, *rest):
        retain_graph = retains(retain_graph, create_graph)
        self.creating = self.creating or create_graph
        made = super().grad(roots, inputs, cotangents, retain_graph, self.creating, *rest)
        self.creating = False
        return made


def witness_CreateGraphStaysOn(a):
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "square", x)
    refused = outcome(a, lambda: a.backward([y], [None], None, create_graph=True))
    a.backward([total(a, y)], [None], None)
    return refused, a.requires_grad(a.gradient(x)), held_by(a, x)
