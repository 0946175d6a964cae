"""Faults of views: shared memory, and the effect of writes on histories."""

from __future__ import annotations

from contextlib import suppress
from weakref import ref

import numpy as np
import torch

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import Straight, applied, held_by, leaf_of


class SiblingViewStale(Fault):
    """A write to a view enters its base's history, but other existing views keep their old history."""

    rule = "views/history"

    def reset(self):
        super().reset()
        self.views, self.stale = [], {}

    def apply(self, op, operands, attrs):
        made = super().apply(op, operands, attrs)
        memory = {x.untyped_storage().data_ptr() for x in operands if x.numel()}
        shares = [y for y in made if y.numel() and y.untyped_storage().data_ptr() in memory]
        self.views += [ref(y) for y in shares if y._is_view()]
        if shares or not torch.is_grad_enabled():
            return made
        found = [self._stale(x) for x in operands]
        if any(found):
            given = [x if there is None else self._as_before(there[1], x) for there, x in zip(found, operands)]
            made = super().apply(op, given, attrs)
        return made

    @staticmethod
    def _as_before(before, value):
        return Straight.apply(before, value.detach()) if before.requires_grad else value.detach().clone()

    def _stale(self, value):
        there = self.stale.get(id(value))
        return there if there is not None and there[0]() is value else None

    def write(self, op, target, operands, attrs):
        siblings = []
        if torch.is_grad_enabled() and target._is_view():
            for there in self.views:
                v = there()
                if v is None or v is target or v._base is not target._base or self._stale(v):
                    continue
                with suppress(RuntimeError):  # a view that may not be used any more
                    siblings.append((v, v.clone()))
        super().write(op, target, operands, attrs)
        if target.requires_grad:
            for v, before in siblings:
                self.stale[id(v)] = (ref(v), before)


def witness_SiblingViewStale(a):
    x, y = leaf_of(a, [1.0, 2.0, 3.0, 4.0]), leaf_of(a, [5.0, 6.0])
    base = applied(a, "square", x)
    written = applied(a, "slice", base, start=0, stop=2, step=1)
    sibling = applied(a, "slice", base, start=1, stop=4, step=1)
    a.write("mul_", written, [y], ())
    z = applied(a, "negative", sibling)
    a.backward([z], [np.ones(3)], None)
    return held_by(a, x, y), a.read(z).tolist()


class SteppedSliceCopies(Fault):
    """A slice with a step is a copy instead of a view."""

    rule = "views/shares"

    def apply(self, op, operands, attrs):
        made = super().apply(op, operands, attrs)
        if op == "slice" and (dict(attrs).get("step") or 1) > 1:
            return (made[0].clone(),)
        return made


def witness_SteppedSliceCopies(a):
    x = leaf_of(a, [1.0, 2.0, 3.0, 4.0], grad=False)
    v = applied(a, "slice", x, start=0, stop=4, step=2)
    a.write("mul_scalar_", v, [], (("scalar", 3.0),))
    return a.read(x).tolist(), a.memory(x) == a.memory(v)
