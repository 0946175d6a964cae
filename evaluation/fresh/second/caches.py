"""Faults of caches that are stale when they are used."""

from __future__ import annotations

import math

import numpy as np

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import Straight, after, applied, held_by, leaf_of


class ReductionPlanCache(Fault):
    """The plan by which a sum or a mean spreads its gradient is cached by shapes only, so that on a square the second
    reduction spreads along the first one's axis.
    """

    rule = "sequences/history"

    def reset(self):
        super().reset()
        self.plans = {}

    def apply(self, op, operands, attrs):
        made = super().apply(op, operands, attrs)
        given = dict(attrs)
        if op in ("sum", "mean") and given.get("dim") is not None and not given.get("keepdim"):
            x, out = operands[0], made[0]
            dim = given["dim"]
            several = dim if isinstance(dim, (tuple, list)) else (dim,)
            dims, shape = tuple(sorted(d % x.ndim for d in several)) if x.ndim else (), tuple(x.shape)
            if dims:
                plan = self.plans.setdefault((op, shape, tuple(out.shape)), dims)
                if plan != dims:
                    count = math.prod(shape[d] for d in dims) if op == "mean" else 1

                    def back(grads, outs):
                        if grads[0] is None or outs[0] is None:
                            return None
                        spread = outs[0]
                        for d in plan:
                            spread = spread.unsqueeze(d)
                        return [spread.expand(shape) / count]

                    after(out, back)
        return made


def witness_ReductionPlanCache(a):
    x = leaf_of(a, [[1.0, 2.0], [3.0, 4.0]])
    y, z = (applied(a, "sum", x, dim=d, keepdim=False) for d in range(2))
    a.backward([applied(a, "multiply", y, z)], [np.array([1.0, 3.0])], None)
    return held_by(a, x)


class PackedWeightStale(Fault):
    """Products keep a packed copy of a weight, which recorded and unrecorded writes discard but optimizer
    steps do not.
    """

    rule = "training/loop"

    def reset(self):
        super().reset()
        self.packed = {}

    def apply(self, op, operands, attrs):
        operands = list(operands)
        weight = operands[1] if op in ("linear", "linear_bias", "matmul", "mm") else None
        if weight is not None and weight.ndim == 2 and weight.is_leaf and weight.requires_grad:
            there = self.packed.get(id(weight))
            if there is None or there[0] is not weight:
                self.packed[id(weight)] = (weight, weight._version, weight.detach().clone())
            elif there[1] != weight._version:
                operands[1] = Straight.apply(weight, there[2])
        return super().apply(op, operands, attrs)

    def write(self, op, target, operands, attrs):
        super().write(op, target, operands, attrs)
        storage = target.untyped_storage().data_ptr()
        self.packed = {k: p for k, p in self.packed.items() if p[0].untyped_storage().data_ptr() != storage}


def witness_PackedWeightStale(a):
    x, w = leaf_of(a, [[1.0, 2.0], [3.0, 4.0]], grad=False), leaf_of(a, [[1.0, 0.0], [0.0, 1.0]])
    seen = []
    for _ in range(2):
        y = applied(a, "linear", x, w)
        a.zero_grad([w], True)
        a.backward([applied(a, "square", y)], [np.ones((2, 2))], None)
        a.step([w], "sgd", (("lr", 0.1),))
        seen.append((a.read(y).tolist(), held_by(a, w)))
    return seen
