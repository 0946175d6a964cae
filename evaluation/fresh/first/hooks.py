"""Faults of hooks, and of values that retain their gradients."""

from __future__ import annotations

from typing import Any
from weakref import ref

import torch

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, executed, held_by, hooked, leaf_of, total, walked


class RootSkipsItsHooks(Fault):
    """The root's own hooks are not called with the call's cotangent: hooks are called only with gradients that arrive
    from an op.
    """

    rule = "hooks/called"

    def reset(self):
        super().reset()
        self.seeded: list[torch.Tensor] = []

    def hook(self, value, function):
        watched, version = ref(value), value._version

        def called(g):
            alive = watched()
            if alive is not None and any(alive is r and r._version == version for r in self.seeded):
                return None
            return function(g)

        return super().hook(value, called)

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        self.seeded = list(roots) if len(roots) == 1 else []
        try:
            super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        finally:
            self.seeded = []

    def grad(self, roots, *rest):
        self.seeded = list(roots) if len(roots) == 1 else []
        try:
            return super().grad(roots, *rest)
        finally:
            self.seeded = []


def witness_RootSkipsItsHooks(a):
    x, calls = leaf_of(a, [1.0, 2.0]), []
    y = total(a, applied(a, "square", x))
    hooked(a, y, calls, "y", "scale", 3.0)
    return walked(a, y), calls, held_by(a, x)


class HandlesAreIndices(Fault):
    """A hook's handle is its index in the value's list: after an earlier hook is removed, removing a later one misses
    it.
    """

    rule = "hooks/removed"

    def hook(self, value, function):
        hooks = value.__dict__.setdefault("own_hooks", [])
        hooks.append(super().hook(value, function))
        return hooks, len(hooks) - 1

    def remove(self, handle):
        if not isinstance(handle, tuple):
            return super().remove(handle)
        hooks, at = handle
        if at < len(hooks):
            hooks.pop(at).remove()
        return None


def witness_HandlesAreIndices(a):
    x, calls = leaf_of(a, [1.0, 2.0]), []
    first, second = (hooked(a, x, calls, k) for k in range(2))
    a.remove(first)
    a.remove(second)
    return walked(a, total(a, applied(a, "square", x))), calls


class RetainedIsReplaced(Fault):
    """A retained gradient is replaced by each call instead of summed over the calls."""

    rule = "hooks/retained"

    def reset(self):
        super().reset()
        self.retaining: list[Any] = []

    def retain_grad(self, value):
        super().retain_grad(value)
        self.retaining.append(ref(value))

    def backward(self, roots, cotangents, retain_graph, create_graph=False, inputs=None):
        nodes = executed(roots, inputs)
        aside = []
        for value in (r() for r in self.retaining):
            if value is not None and value.grad_fn is not None and value.grad_fn in nodes and value.grad is not None:
                aside.append((value, value.grad))
                value.grad = None
        try:
            super().backward(roots, cotangents, retain_graph, create_graph, inputs)
        except BaseException:
            for value, held in aside:
                if value.grad is None:
                    value.grad = held
            raise


def witness_RetainedIsReplaced(a):
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "square", x)
    a.retain_grad(y)
    z = total(a, y)
    return walked(a, z, True), walked(a, z), held_by(a, y)
