"""Faults of freed and of retained graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

import torch

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import (
    FREED,
    applied,
    executed,
    held_by,
    is_leaf_node,
    leaf_of,
    retains,
    saved_by,
    total,
    walked,
    zeros_for,
)


class RetainedForEver(Fault):
    """A root whose graph was retained once is never freed again: retain_graph persists for the root."""

    rule = "lifetime/last-call-frees"

    @staticmethod
    def _sticky(roots: Any, retain_graph: Any, create_graph: bool) -> Any:
        nodes = [r.grad_fn for r in roots if r.grad_fn is not None]
        stuck = any(n.metadata.get("retained") for n in nodes)
        if retains(retain_graph, create_graph):
            for n in nodes:
                n.metadata["retained"] = True
        return True if stuck else retain_graph

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        retain_graph = self._sticky(roots, retain_graph, create_graph)
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)

    def grad(self, roots, inputs, cotangents, retain_graph, create_graph, *rest):
        retain_graph = self._sticky(roots, retain_graph, create_graph)
        return super().grad(roots, inputs, cotangents, retain_graph, create_graph, *rest)


def witness_RetainedForEver(a):
    x = leaf_of(a, [1.0, 2.0])
    y = total(a, applied(a, "square", x))
    return walked(a, y, True), walked(a, y), walked(a, y), held_by(a, x)


class LeafSavedOnce(Fault):
    """Two graphs that save the same leaf share one saved copy, so that freeing one graph frees the other's copy too."""

    rule = "lifetime/independent"

    def reset(self):
        super().reset()
        self.released: dict[int, tuple[Any, int]] = {}

    @staticmethod
    def _leaves(nodes: Any) -> list[tuple[Any, torch.Tensor]]:
        return [(n, v) for n in nodes if not is_leaf_node(n) for v in saved_by(n) if v.is_leaf and v.requires_grad]

    def _check(self, nodes: Any) -> None:
        for n, v in self._leaves(nodes):
            at = self.released.get(id(v))
            if at is not None and at[0]() is v and n._sequence_nr() < at[1]:
                raise RuntimeError(FREED)

    def _release(self, held: list[tuple[Any, torch.Tensor]]) -> None:
        with torch.enable_grad():
            now = (torch.ones(1, requires_grad=True) * 1).grad_fn._sequence_nr()
        for _, v in held:
            self.released[id(v)] = (ref(v), now)

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        nodes = executed(roots, inputs)
        held = self._leaves(nodes)
        self._check(nodes)
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        if not retains(retain_graph, create_graph):
            self._release(held)

    def grad(self, roots, inputs, cotangents, retain_graph, create_graph, *rest):
        nodes = executed(roots, inputs)
        held = self._leaves(nodes)
        self._check(nodes)
        made = super().grad(roots, inputs, cotangents, retain_graph, create_graph, *rest)
        if not retains(retain_graph, create_graph):
            self._release(held)
        return made


def witness_LeafSavedOnce(a):
    x = leaf_of(a, [1.0, 2.0])
    y, z = total(a, applied(a, "square", x)), total(a, applied(a, "sin", x))
    return walked(a, y), walked(a, z), held_by(a, x)


def _scratch(forward: Callable[[Any], Any], local: Callable[[Any], Any]) -> type[torch.autograd.Function]:
    class InScratch(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = forward(x)
            ctx.save_for_backward(y)
            ctx.scratch = None
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            if torch.is_grad_enabled():
                return g * local(y)
            if ctx.scratch is None:
                ctx.scratch = local(y).clone()
            return ctx.scratch.mul_(g).clone()

    return InScratch


_SCRATCH = {
    "exp": _scratch(torch.exp, lambda y: y),
    "sigmoid": _scratch(torch.sigmoid, lambda y: torch.ops.aten.sigmoid_backward(torch.ones_like(y), y)),
}


class FactorMultipliedInPlace(Fault):
    """The derivatives of exp and sigmoid multiply the saved local factor by the cotangent in place, so that a second
    call on a retained graph uses the product.
    """

    rule = "lifetime/retained-works"

    def apply(self, op, operands, attrs):
        if op in _SCRATCH and operands[0].requires_grad and torch.is_grad_enabled():
            return (_SCRATCH[op].apply(operands[0]),)
        return super().apply(op, operands, attrs)


def witness_FactorMultipliedInPlace(a):
    x = leaf_of(a, [1.0, 2.0])
    y = total(a, applied(a, "multiply_scalar", applied(a, "exp", x), scalar=3.0))
    return walked(a, y, True), walked(a, y), held_by(a, x)


class OnlyTheRootIsFreed(Fault):
    """Freeing marks only the root and not the nodes that it depends on: another root over the same freed graph walks it
    again.
    """

    rule = "lifetime/freed-subgraph-raises"

    @staticmethod
    def _check(roots: Any) -> None:
        for root in roots:
            if root.grad_fn is not None and root.grad_fn.metadata.get("done"):
                raise RuntimeError(FREED)

    @staticmethod
    def _done(roots: Any) -> None:
        for root in roots:
            if root.grad_fn is not None:
                root.grad_fn.metadata["done"] = True

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        self._check(roots)
        super().backward(roots, cotangents, True, create_graph, inputs)
        if not retains(retain_graph, create_graph):
            self._done(roots)

    def grad(self, roots, inputs, cotangents, retain_graph, create_graph, *rest):
        self._check(roots)
        made = super().grad(roots, inputs, cotangents, True, create_graph, *rest)
        if not retains(retain_graph, create_graph):
            self._done(roots)
        return made


def witness_OnlyTheRootIsFreed(a):
    x = leaf_of(a, [1.0, 2.0])
    y = total(a, applied(a, "square", x))
    first = walked(a, y)
    return first, walked(a, applied(a, "multiply_scalar", y, scalar=2.0)), held_by(a, x)


class FreedStateIsAConstant(Fault):
    """A backward call silently stops at a freed part of the graph, as if the value there had been detached."""

    rule = "recurrent/carried-state"

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        tops = [r.grad_fn for r in roots if r.grad_fn is not None]
        nodes = [n for n in executed(roots, inputs) if not is_leaf_node(n)]
        if any(n.metadata.get("root_freed") for n in tops):
            raise RuntimeError(FREED)
        cut = [n for n in nodes if n.metadata.get("freed") and saved_by(n)]
        hooks = [n.register_prehook(zeros_for) for n in cut]
        try:
            super().backward(roots, cotangents, True, create_graph, inputs)
        finally:
            for h in hooks:
                h.remove()
        if not retains(retain_graph, create_graph):
            for n in nodes:
                n.metadata["freed"] = True
            for n in tops:
                n.metadata["root_freed"] = True


def witness_FreedStateIsAConstant(a):
    w, state = leaf_of(a, 0.5), leaf_of(a, 1.0, grad=False)
    seen = []
    for _ in range(2):
        state = applied(a, "tanh", applied(a, "multiply", w, state))
        seen.append(walked(a, applied(a, "square", state)))
    return seen, held_by(a, w)
