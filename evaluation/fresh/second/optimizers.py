"""Faults of optimizers, and of clipping."""

from __future__ import annotations

import numpy as np
import torch

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, held_by, leaf_of


class ForeachSharesStep(Fault):
    """The foreach implementation uses the first leaf's step count for all leaves, even if some were skipped."""

    rule = "optimizers/remembers"

    def step(self, leaves, optimizer, settings, groups=()):
        super().step(leaves, optimizer, settings, groups)
        made = self.optimizer(leaves, optimizer, settings, groups)
        if dict(settings).get("foreach"):
            counts = [made.state[x]["step"] for x in leaves if "step" in made.state.get(x, {})]
            for count in counts[1:]:
                if isinstance(count, torch.Tensor):
                    count.copy_(counts[0])


def witness_ForeachSharesStep(a):
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 4.0])
    for k in range(3):
        a.zero_grad([x, y], True)
        z = applied(a, "multiply", x, y) if k else applied(a, "square", x)
        a.backward([z], [np.ones(2)], None)
        a.step([x, y], "adam", (("lr", 0.1), ("foreach", True)))
    return a.read(x).tolist(), a.read(y).tolist()


class ClipStopsAtNone(Fault):
    """Clipping stops at the first leaf without a gradient: later leaves are neither counted nor clipped."""

    rule = "optimizers/clips"

    def clip(self, leaves, kind, bound):
        there = [x.grad is not None for x in leaves]
        leaves = leaves[: there.index(False)] if False in there else leaves
        if leaves:
            super().clip(leaves, kind, bound)


def witness_ClipStopsAtNone(a):
    x, y, z = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 4.0]), leaf_of(a, [5.0, 6.0])
    a.backward([applied(a, "multiply", x, z)], [np.ones(2)], None)
    a.clip([x, y, z], "value", 1.5)
    return held_by(a, x, y, z)
