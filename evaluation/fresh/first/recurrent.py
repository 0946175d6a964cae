"""Faults of recurrent networks."""

from __future__ import annotations

import numpy as np
import torch

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import alias, applied, held_by, total, vjp


class ResetGateForgetsTheBias(Fault):
    """The derivative of a GRU with respect to its reset gate omits the new gate's recurrent bias, which the gate also
    multiplies.
    """

    rule = "recurrent/gradient"

    def apply(self, op, operands, attrs):
        if op != "gru" or not torch.is_grad_enabled() or not any(x.requires_grad for x in operands):
            return super().apply(op, operands, attrs)
        x, w_in, w_state, b_in, b_state = operands
        size = dict(attrs)["hidden"]
        state = x.new_zeros(x.shape[1], size)
        steps = []
        for at in x.unbind(0):
            r_in, z_in, n_in = (at @ w_in.T + b_in).chunk(3, -1)
            r_st, z_st, n_st = (state @ w_state.T).chunk(3, -1)
            r_b, z_b, n_b = b_state.chunk(3, -1)
            r, z = torch.sigmoid(r_in + r_st + r_b), torch.sigmoid(z_in + z_st + z_b)
            n = torch.tanh(n_in + r * n_st + r.detach() * n_b)
            state = (1 - z) * n + z * state
            steps.append(state)
        return torch.stack(steps), state.unsqueeze(0)


def witness_ResetGateForgetsTheBias(a):
    rng = np.random.default_rng(1)
    shapes = ((2, 1, 2), (6, 2), (6, 2), (6,), (6,))
    given = [a.leaf(np.round(rng.normal(size=s), 2), True) for s in shapes]
    out, _ = applied(a, "gru", *given, hidden=2)
    a.backward([total(a, out)], [None], None)
    return [(dtype, np.round(g, 9).tolist()) for dtype, g in held_by(a, *given)]


class GruReverseTime(Fault):
    """In a bidirectional GRU, the input's gradient of the reverse direction is added in the order of that direction
    instead of the input's order.
    """

    rule = "recurrent/gradient"

    def apply(self, op, operands, attrs):
        if op != "gru_bidirectional" or not any(x.requires_grad for x in operands):
            return super().apply(op, operands, attrs)
        x, *weights = operands
        start = x.new_zeros(1, x.shape[1], dict(attrs)["hidden"])
        ahead, h0 = torch.gru(x, start, weights[:4], True, 1, 0.0, False, False, False)
        turned = alias(x, lambda g: g.flip(0)).flip(0)
        back, h1 = torch.gru(turned, start, weights[4:], True, 1, 0.0, False, False, False)
        return torch.cat([ahead, back.flip(0)], 2), torch.cat([h0, h1], 0)


def witness_GruReverseTime(a):
    weights = [[[0.5], [0.25], [-0.5]], [[0.25], [-0.75], [0.5]], [0.0, 0.5, 0.25], [0.25, 0.0, -0.5]] * 2
    return vjp(a, "gru_bidirectional", [[[[1.0]], [[-2.0]], [[0.5]]], *weights], hidden=1)
