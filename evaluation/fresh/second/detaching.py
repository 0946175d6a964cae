"""Faults of detached values."""

from __future__ import annotations

from weakref import ref

import numpy as np

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, held_by, leaf_of, zeros_for


class DetachCached(Fault):
    """Detach caches its result and returns it again, even if that requires grad or has a separate history by then."""

    rule = "detach/values"

    def reset(self):
        super().reset()
        self.detached = {}

    def detach(self, value):
        there = self.detached.get(id(value))
        if there is None or there[0]() is not value or there[1].data_ptr() != value.data_ptr():
            there = self.detached[id(value)] = (ref(value), super().detach(value))
        return there[1]


def witness_DetachCached(a):
    x = applied(a, "square", leaf_of(a, [1.0, 2.0]))
    a.set_requires_grad(a.detach(x), True)
    return a.requires_grad(a.detach(x))


class DetachCutsUses(Fault):
    """Detaching a value in place also cuts off values that were computed from it before: no gradient flows through
    these uses.
    """

    rule = "gradients/graph"

    def detach_in_place(self, value):
        node = None if value._is_view() else value.grad_fn
        if node is not None and len(node._input_metadata) == 1:
            node.register_hook(lambda gradients, _: zeros_for(gradients))
        super().detach_in_place(value)


def witness_DetachCutsUses(a):
    x = leaf_of(a, [1.0, 2.0])
    y = applied(a, "square", x)
    z = applied(a, "negative", y)
    a.detach_in_place(y)
    a.backward([z], [np.ones(2)], None)
    return held_by(a, x)
