"""Faults of the derivatives of network ops."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import after, vjp


class DropoutRedraws(Fault):
    """The derivative of dropout draws its mask again instead of using that of the forward pass."""

    rule = "networks/random"

    def apply(self, op, operands, attrs):
        made = super().apply(op, operands, attrs)
        p = dict(attrs).get("p")
        if op == "dropout" and 0 < p < 1:

            def back(grads, outs):
                if grads[0] is None or outs[0] is None:
                    return None
                with torch.no_grad():
                    mask = F.dropout(torch.ones_like(outs[0]), p)
                return [outs[0] * mask, *grads[1:]]

            after(made[0], back)
        return made


def witness_DropoutRedraws(a):
    return vjp(a, "dropout", [np.arange(1.0, 9.0)], seed=3, p=0.5)


class RecurrenceTruncated(Fault):
    """The derivative of a recurrent network stops after two steps: the earlier state counts as a constant."""

    rule = "recurrent/gradient"

    def apply(self, op, operands, attrs):
        x = operands[0]
        if op == "gru" and x.shape[0] > 2:
            state = x.new_zeros(1, x.shape[1], dict(attrs)["hidden"])
            rest = (list(operands[1:]), True, 1, 0.0, False, False, False)
            early, state = torch.gru(x[:-2], state, *rest)
            late, state = torch.gru(x[-2:], state.detach(), *rest)
            return torch.cat([early, late]), state
        return super().apply(op, operands, attrs)


def witness_RecurrenceTruncated(a):
    given = [[[[1.0]], [[2.0]], [[-1.0]]], [[0.5], [1.0], [-1.0]], [[1.0], [0.5], [0.25]]]
    return vjp(a, "gru", [*given, [0.1, 0.2, 0.3], [0.3, 0.2, 0.1]], result=1, hidden=1)
