"""Faults of derivatives that broadcast a gradient over axes or sum it over them."""

from __future__ import annotations

import numpy as np

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import after, applied, held_by, leaf_of, walked


class BroadcastBothWays(Fault):
    """Undoing a broadcast sums over the added leading axes; if there are any, it takes the first element of broadcast
    axes of size one instead of the sum.
    """

    rule = "gradients/op"

    def apply(self, op, operands, attrs):
        made = super().apply(op, operands, attrs)
        if op in ("add", "subtract", "multiply"):
            a, b = operands
            out = made[0]

            def both(x):
                added = out.ndim - x.ndim
                return added > 0 and any(m == 1 and n > 1 for m, n in zip(x.shape, out.shape[added:]))

            def back(grads, outs):
                for k, x in enumerate((a, b)):
                    if both_ways[k] and grads[k] is not None and outs[0] is not None:
                        whole = outs[0]
                        if op == "multiply":
                            whole = whole * (a, b)[1 - k]
                        if op == "subtract" and k == 1:
                            whole = -whole
                        added = whole.ndim - x.ndim
                        whole = whole.sum(tuple(range(added)))
                        for d, n in enumerate(x.shape):
                            if n == 1:
                                whole = whole.narrow(d, 0, 1)
                        grads[k] = whole
                return grads

            both_ways = [both(a), both(b)]
            del out  # the hook keeps no result
            if any(both_ways):
                after(made[0], back)
        return made


def witness_BroadcastBothWays(a):
    x, y = leaf_of(a, [[1.0, 2.0], [3.0, 4.0]]), leaf_of(a, [[5.0], [6.0]])
    z = applied(a, "multiply", applied(a, "broadcast_to", x, shape=(2, 2, 2)), y)
    a.backward([z], [np.arange(8.0).reshape(2, 2, 2)], None)
    return held_by(a, x, y)


class MomentsTogether(Fault):
    """The derivative of var_mean and std_mean returns early with the variance's part, so that the mean's part is lost
    if both results are used.
    """

    rule = "gradients/several-results"

    def apply(self, op, operands, attrs):
        made = super().apply(op, operands, attrs)
        if op in ("var_mean", "std_mean") and made[0].grad_fn is not None:

            def first(grads):
                return (grads[0], None) if all(g is not None for g in grads) else None

            made[0].grad_fn.register_prehook(first)
        return made


def witness_MomentsTogether(a):
    x = leaf_of(a, [1.0, 2.0, 4.0])
    variance, mean = applied(a, "var_mean", x, dim=0, keepdim=False, correction=1)
    return walked(a, applied(a, "multiply", variance, mean)), held_by(a, x)
