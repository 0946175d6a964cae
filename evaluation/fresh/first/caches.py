"""Faults of caches that are stale when they are used."""

from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np
import torch

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import after, applied, executed, held_by, is_leaf_node, leaf_of, total, walked, zeros_for


class SeedIsCached(Fault):
    """The cotangent of a root of one element is cached by shape and dtype for the whole process, so that an implicit
    cotangent is the last explicit one.
    """

    rule = "sequences/history"

    def __init__(self, device="cpu"):
        super().__init__(device)
        self.seeds: dict[Any, np.ndarray] = {}

    def _seeded(self, roots: Any, cotangents: Any) -> list[Any]:
        made = []
        for r, c in zip(roots, cotangents):
            key = (tuple(r.shape), r.dtype)
            if c is not None and c.size == 1 and c.shape == tuple(r.shape):
                self.seeds[key] = c.copy()
            elif c is None and r.numel() == 1 and key in self.seeds:
                c = self.seeds[key].copy()
            made.append(c)
        return made

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        given = self._seeded(roots, cotangents)
        super().backward(roots, given, retain_graph, create_graph, inputs)

    def grad(self, roots, inputs, cotangents, *rest):
        return super().grad(roots, inputs, self._seeded(roots, cotangents), *rest)


def witness_SeedIsCached(a):
    x = leaf_of(a, 1.0)
    first = walked(a, applied(a, "square", x), cotangent=5.0)
    a.reset()
    y = leaf_of(a, 2.0)
    return first, walked(a, applied(a, "square", y)), held_by(a, y)


class OptimizerStateSurvives(Fault):
    """Optimizer state is stored by kind, settings, position and shape of the leaf, so that a new optimizer continues
    from an old one's averages.
    """

    rule = "sequences/history"

    def __init__(self, device="cpu"):
        super().__init__(device)
        self.remembered: dict[Any, dict[str, Any]] = {}

    def step(self, leaves, optimizer, settings, groups=()):
        made = self.optimizer(leaves, optimizer, settings, groups)
        keys = {id(p): (optimizer, settings, groups, k, tuple(p.shape), p.dtype) for k, p in enumerate(leaves)}
        if not made.state:
            for p in leaves:
                old = self.remembered.get(keys[id(p)])
                if old is not None and p.grad is not None:
                    made.state[p] = {k: self._copy(v) for k, v in old.items()}
        super().step(leaves, optimizer, settings, groups)
        for p in leaves:
            if p in made.state:
                self.remembered[keys[id(p)]] = {k: self._copy(v) for k, v in made.state[p].items()}

    @staticmethod
    def _copy(value: Any) -> Any:
        return value.detach().clone() if isinstance(value, torch.Tensor) else value


def witness_OptimizerStateSurvives(a):
    for _ in range(2):
        a.reset()
        x = leaf_of(a, [1.0, 2.0])
        a.backward([total(a, applied(a, "square", x))], [None], None)
        a.step([x], "sgd", (("lr", 0.1), ("momentum", 0.9)))
    return a.read(x).tolist()


class FirstRequiresGradCached(Fault):
    """addcmul is compiled once for its operands' shapes and dtypes: operands that did not require grad the first time
    are constants in all later calls.
    """

    rule = "sequences/history"

    def __init__(self, device="cpu"):
        super().__init__(device)
        self.compiled = {}  # stays over programs, as a cache of compiled code does

    def apply(self, op, operands, attrs):
        if op == "addcmul":
            key = tuple((tuple(x.shape), x.dtype) for x in operands)
            wanted = self.compiled.setdefault(key, tuple(x.requires_grad for x in operands))
            operands = [x if yes else x.detach() for x, yes in zip(operands, wanted)]
        return super().apply(op, operands, attrs)


def witness_FirstRequiresGradCached(a):
    seen = []
    for grad in (False, True):
        a.reset()  # two programs
        x, y, z = leaf_of(a, [1.0]), leaf_of(a, [2.0], grad=grad), leaf_of(a, [3.0])
        a.backward([applied(a, "addcmul", x, y, z, value=2.0)], [np.ones(1)], None)
        seen.append(held_by(a, x, y, z))
    return seen


class PackedWeightIsStale(Fault):
    """The derivative of a product for its input uses a packed copy of the weight that is made at the weight's first use
    and not refreshed after updates.
    """

    rule = "training/loop"

    def reset(self):
        super().reset()
        self.packed: dict[int, tuple[Any, torch.Tensor]] = {}

    def apply(self, op, operands, attrs):
        made = super().apply(op, operands, attrs)
        if op not in ("linear", "linear_bias", "matmul", "mm") or made[0].grad_fn is None:
            return made
        x, w = operands[:2]
        slot = {"MmBackward0": 0, "AddmmBackward0": 1}.get(made[0].grad_fn.name())
        if slot is None or not (w.is_leaf and w.requires_grad and x.requires_grad and x.dim() == w.dim() == 2):
            return made
        known = self.packed.get(id(w))
        if known is None or known[0]() is not w:
            known = self.packed[id(w)] = (ref(w), w.detach().clone())
        packed, across = known[1], op in ("linear", "linear_bias")

        def from_packed(gradients, outgoing):
            if gradients[slot] is None or outgoing[0] is None:
                return None
            now = packed + (w - w.detach())
            g = outgoing[0] @ (now if across else now.T)
            return tuple(g if k == slot else old for k, old in enumerate(gradients))

        made[0].grad_fn.register_hook(from_packed)
        return made


def witness_PackedWeightIsStale(a):
    x = leaf_of(a, [[1.0, 2.0]], grad=False)
    v, w = leaf_of(a, [[1.0, -1.0], [0.5, 2.0]]), leaf_of(a, [[1.0, 2.0]])
    for _ in range(2):
        a.zero_grad([v, w], True)
        a.backward([total(a, applied(a, "linear", applied(a, "tanh", applied(a, "linear", x, v)), w))], [None], None)
        a.step([v, w], "sgd", (("lr", 0.5),))
    return held_by(a, v, w), a.read(v).tolist()


class VisitedMarksStay(Fault):
    """A backward call that retains the graph leaves its visited marks, so that a call from another root stops at shared
    nodes.
    """

    rule = "relations/sum"

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        tops = [r.grad_fn for r in roots if r.grad_fn is not None]
        token = tuple(sorted(n._sequence_nr() for n in tops))
        nodes = [n for n in executed(roots, inputs) if not is_leaf_node(n)]
        hooks = []
        for n in nodes:
            mark = n.metadata.get("visited")
            if mark is not None and mark != token and n not in tops:
                hooks.append(n.register_prehook(zeros_for))
        try:
            super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        finally:
            for h in hooks:
                h.remove()
        if retain_graph and not create_graph:
            for n in nodes:
                n.metadata.setdefault("visited", token)


def witness_VisitedMarksStay(a):
    x = leaf_of(a, [1.0, 2.0])
    trunk = applied(a, "square", x)
    one, two = total(a, applied(a, "sin", trunk)), total(a, applied(a, "exp", trunk))
    return walked(a, one, True), walked(a, two), held_by(a, x)


class _Relu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, workspaces):
        y = torch.relu(x)
        ctx.key, ctx.workspaces = (tuple(x.shape), x.dtype), workspaces
        workspaces[ctx.key] = (y > 0).to(y.dtype)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        _ = ctx.saved_tensors  # freed or written: raises as it should
        return g * ctx.workspaces[ctx.key], None


class MaskInAWorkspace(Fault):
    """relu stores its mask in a workspace for each shape, which the next relu of that shape overwrites before the first
    one's derivative reads it.
    """

    rule = "relations/interleaved"

    def reset(self):
        super().reset()
        self.workspaces: dict[Any, torch.Tensor] = {}

    def apply(self, op, operands, attrs):
        if op == "relu" and operands[0].requires_grad and torch.is_grad_enabled():
            return (_Relu.apply(operands[0], self.workspaces),)
        return super().apply(op, operands, attrs)


def witness_MaskInAWorkspace(a):
    x, y = leaf_of(a, [1.0, -2.0]), leaf_of(a, [-3.0, 4.0])
    fx = total(a, applied(a, "relu", x))
    fy = total(a, applied(a, "relu", y))
    return walked(a, fx), walked(a, fy), held_by(a, x, y)


class MaskCachedByShape(Fault):
    """masked_fill caches its masks for backward by shape: a later call with another mask of the same shape replaces the
    first mask.
    """

    rule = "gradients/graph"

    def reset(self):
        super().reset()
        self.masks = {}

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        if op == "masked_fill":
            mask, masks = torch.tensor(dict(attrs)["mask"], dtype=torch.bool, device=self.device), self.masks
            key = tuple(mask.shape)
            masks[key] = mask
            if mask.dim() <= out[0].dim() and operands[0].shape == out[0].shape:
                after(out[0], lambda gi, go: [g if g is None else go[0].masked_fill(masks[key], 0.0) for g in gi])
        return out


def witness_MaskCachedByShape(a):
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "masked_fill", x, mask=(True, False), value=0.0)
    applied(a, "masked_fill", x, mask=(False, True), value=0.0)
    a.backward([y], [np.ones(2)], None)
    return held_by(a, x)
