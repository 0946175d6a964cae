"""Faults of random ops."""

from __future__ import annotations

import torch

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import after, applied, leaf_of, vjp


class DropoutFreshMask(Fault):
    """The derivative of dropout draws another mask instead of using that of the forward pass."""

    rule = "networks/random"

    def apply(self, op, operands, attrs):
        out = super().apply(op, operands, attrs)
        p = dict(attrs).get("p")
        if op == "dropout" and 0 < p < 1 and out[0] is not operands[0]:
            after(
                out[0],
                lambda gi, go: [
                    gi[0] if gi[0] is None else go[0] * (torch.rand_like(go[0].detach()) >= p) / (1 - p),
                    *gi[1:],
                ],
            )
        return out


def witness_DropoutFreshMask(a):
    return vjp(a, "dropout", [[1.0] * 32], seed=3, p=0.5)


class SeedRemembered(Fault):
    """Seeding the generator with the same seed as last time does nothing, even if numbers were drawn since."""

    rule = "networks/random"

    def reset(self):
        super().reset()
        self.last = None

    def apply(self, op, operands, attrs):
        if op not in ("dropout", "dropout_mask", "random_normal", "random_uniform"):
            return super().apply(op, operands, attrs)
        seed, real = dict(attrs)["seed"], torch.manual_seed
        again, self.last = seed == self.last, seed
        if again:
            torch.manual_seed = lambda number: None
        try:
            return super().apply(op, operands, attrs)
        finally:
            torch.manual_seed = real


def witness_SeedRemembered(a):
    x = leaf_of(a, [0.0, 0.0])
    return [a.read(applied(a, "random_normal", x, seed=3)).tolist() for _ in range(2)]
