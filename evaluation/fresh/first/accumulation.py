"""Faults of leaves' gradients: how contributions reach a leaf, and in what form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np
import torch

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, graph, held_by, is_leaf_node, leaf_of, reached, retains, total, walked


class ZeroingStopsAtNone(Fault):
    """Clearing several leaves to zeros stops at the first leaf without a gradient, and skips all later leaves."""

    rule = "accumulation/zero-to-zeros"

    def zero_grad(self, leaves, set_to_none):
        if set_to_none:
            return super().zero_grad(leaves, set_to_none)
        for leaf in leaves:
            if leaf.grad is None:
                return None
            leaf.grad.zero_()
        return None


def witness_ZeroingStopsAtNone(a):
    x, y = leaf_of(a, 1.0), leaf_of(a, 2.0)
    a.backward([applied(a, "square", y)], [None], None)
    a.zero_grad([x, y], False)
    return held_by(a, x, y)


class AssignedIsOverwritten(Fault):
    """The accumulator adds to a separate buffer, so that the next backward call loses an assigned gradient."""

    rule = "accumulation/assigned"

    def reset(self):
        super().reset()
        self.buffers: dict[int, tuple[Any, torch.Tensor | None]] = {}

    def assign_grad(self, leaf, value):
        old = leaf.grad if leaf.is_leaf else None
        super().assign_grad(leaf, value)
        if leaf.is_leaf and value is not None and id(leaf) not in self.buffers:
            self.buffers[id(leaf)] = (ref(leaf), None if old is None else old.detach().clone())
        elif value is None:
            self.buffers.pop(id(leaf), None)

    def _clean(self, leaves):
        for leaf in leaves:
            self.buffers.pop(id(leaf), None)

    def zero_grad(self, leaves, set_to_none):
        super().zero_grad(leaves, set_to_none)
        self._clean(leaves)

    def clear(self, leaves, *rest, **options):
        super().clear(leaves, *rest, **options)
        self._clean(leaves)

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        stale = []
        for leaf in reached(roots, inputs):
            known = self.buffers.get(id(leaf))
            if known is not None and known[0]() is leaf and leaf.requires_grad:
                stale.append((leaf, leaf.grad))
                leaf.grad = known[1]
        try:
            super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        except BaseException:
            for leaf, assigned in stale:
                leaf.grad = assigned
            raise
        self._clean([leaf for leaf, _ in stale])


def witness_AssignedIsOverwritten(a):
    x, v = leaf_of(a, [1.0, 3.0]), leaf_of(a, [10.0, 10.0], grad=False)
    a.assign_grad(x, v)
    a.backward([total(a, applied(a, "square", x))], [None], None)
    return held_by(a, x)


class SumSharesItsGradient(Fault):
    """The derivative of `a + b` passes one tensor to both leaves, which keep it as their first gradient."""

    rule = "accumulation/own-object"

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        nodes, pairs = graph(roots), []
        uses: dict[int, int] = {}
        for n in nodes:
            for m, _ in n.next_functions:
                if m is not None and is_leaf_node(m):
                    uses[id(m.variable)] = uses.get(id(m.variable), 0) + 1
        for n in nodes:
            ends = [m for m, _ in n.next_functions]
            if n.name() == "AddBackward0" and len(ends) == 2 and all(m is not None and is_leaf_node(m) for m in ends):
                a, b = (m.variable for m in ends)
                alone = a is not b and uses[id(a)] == uses[id(b)] == 1
                alike = a.shape == b.shape and a.dtype == b.dtype and a.stride() == b.stride()
                if alone and alike and a.grad is None and b.grad is None:
                    pairs.append((a, b))
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        for a, b in pairs:
            if not create_graph and a.grad is not None and b.grad is not None and torch.equal(a.grad, b.grad):
                b.grad = a.grad


def witness_SumSharesItsGradient(a):
    x, y = leaf_of(a, [1.0, 3.0]), leaf_of(a, [4.0, 3.0])
    a.backward([total(a, applied(a, "multiply_scalar", applied(a, "add", x, y), scalar=2.0))], [None], None)
    a.backward([total(a, applied(a, "square", x))], [None], None)
    return held_by(a, x, y), a.identity(x.grad) == a.identity(y.grad)


class EveryLeafOnTheTape(Fault):
    """A backward call gives zeros to every leaf without a gradient that was used since the last call, even if the root
    does not depend on it.
    """

    rule = "accumulation/unreached"

    def reset(self):
        super().reset()
        self.tape: list[Any] = []

    def apply(self, op, operands, attrs):
        made = super().apply(op, operands, attrs)
        if torch.is_grad_enabled():
            self.tape += [ref(x) for x in operands if x.is_leaf and x.requires_grad]
        return made

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        if inputs is None:
            for leaf in (r() for r in self.tape):
                if leaf is not None and leaf.requires_grad and leaf.is_leaf and leaf.grad is None:
                    leaf.grad = torch.zeros_like(leaf)
        if not retains(retain_graph, create_graph):
            self.tape.clear()


def witness_EveryLeafOnTheTape(a):
    x, y = leaf_of(a, 1.0), leaf_of(a, 2.0)
    applied(a, "square", y)
    a.backward([applied(a, "square", x)], [None], None)
    return held_by(a, x, y)


class BroadcastLeafStartsAnew(Fault):
    """The gradient of a broadcast leaf is reduced into the leaf's `.grad`, overwriting the gradient that was there."""

    rule = "training/micro-batches"
    NAMES = ("AddBackward0", "SubBackward0", "MulBackward0", "DivBackward0")

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        nodes, wide, uses = graph(roots), [], {}
        wanted = {id(v) for v in reached(roots, inputs)}
        for n in nodes:
            for m, _ in n.next_functions:
                if m is not None and is_leaf_node(m):
                    v = m.variable
                    uses[id(v)] = uses.get(id(v), 0) + 1
                    if n.name() in self.NAMES and tuple(n._input_metadata[0].shape) != tuple(v.shape) and v.numel():
                        wide.append(v)
        aside = []
        for v in wide:
            if uses[id(v)] == 1 and id(v) in wanted and v.requires_grad and v.grad is not None:
                aside.append((v, v.grad))
                v.grad = None
        try:
            super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        finally:
            for v, held in aside:
                if v.grad is None:
                    v.grad = held


def witness_BroadcastLeafStartsAnew(a):
    w = leaf_of(a, [0.5])
    for data in ([1.0, 2.0], [3.0, 4.0]):
        a.backward([total(a, applied(a, "multiply", leaf_of(a, data, grad=False), w))], [None], None)
    return held_by(a, w)


class AddsAsItGoes(Fault):
    """Each contribution is added to its leaf as it arrives, so that a call that fails on a freed graph leaves a part of
    the sum in a leaf with several uses.
    """

    rule = "errors/atomic"

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        if inputs is not None or create_graph:
            return super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        uses: dict[int, int] = {}
        came: dict[int, list[torch.Tensor]] = {}
        leaves: dict[int, torch.Tensor] = {}
        hooks = []

        def noted(places: list[tuple[int, torch.Tensor]]) -> Callable[..., None]:
            def note(gradients, _):
                for k, leaf in places:
                    if gradients[k] is not None:
                        came.setdefault(id(leaf), []).append(gradients[k].detach().sum_to_size(leaf.shape).clone())

            return note

        for n in graph(roots):
            places = [(k, m.variable) for k, (m, _) in enumerate(n.next_functions) if m is not None and is_leaf_node(m)]
            for _, leaf in places:
                uses[id(leaf)] = uses.get(id(leaf), 0) + 1
                leaves[id(leaf)] = leaf
            if places:
                hooks.append(n.register_hook(noted(places)))
        try:
            return super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        except RuntimeError as error:
            if "Trying to backward through the graph a second time" in str(error):
                for key, parts in came.items():
                    leaf = leaves[key]
                    if len(parts) < uses[key] and leaf.requires_grad:
                        total = sum(parts[1:], parts[0])
                        leaf.grad = total if leaf.grad is None else leaf.grad + total
            raise
        finally:
            for h in hooks:
                h.remove()


def witness_AddsAsItGoes(a):
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "square", x)
    a.backward([total(a, y)], [None], None)
    z = total(a, applied(a, "add", y, applied(a, "sin", x)))
    return walked(a, z), held_by(a, x)


class CastGradientKept(Fault):
    """A leaf that is cast to another dtype gets its gradient in the dtype of the cast."""

    rule = "gradients/form"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        x = operands[0]
        if op.startswith("astype") and x.is_leaf and out[0].requires_grad and out[0].dtype != x.dtype:
            other = out[0].dtype
            x.grad_dtype = None

            def cast(leaf):
                if leaf.grad is not None and leaf.grad.dtype != other:
                    leaf.grad = leaf.grad.to(other)

            x.register_post_accumulate_grad_hook(cast)
        return out


def witness_CastGradientKept(a):
    x = leaf_of(a, [1.0, 2.0])
    a.backward([applied(a, "astype_float32", x)], [np.ones(2, "float32")], None)
    return held_by(a, x)
