"""Faults of optimizers and of clipping."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, held_by, leaf_of, total


class StateByPosition(Fault):
    """SGD's momentum buffers are assigned by position among the leaves with a gradient: if another leaf than in the
    last step has none, later leaves get their neighbours' buffers.
    """

    rule = "optimizers/remembers"

    def reset(self) -> None:
        super().reset()
        self.buffers: dict[int, list[Any]] = {}

    def step(self, leaves: Sequence[Tensor], optimizer: str, settings: Any, groups: Any = ()) -> None:
        if optimizer != "sgd" or groups or not dict(settings).get("momentum"):
            return super().step(leaves, optimizer, settings, groups)
        made = self.optimizer(leaves, optimizer, settings, groups)
        moved = [x for x in leaves if x.grad is not None]
        for leaf, buffer in zip(moved, self.buffers.get(id(made), ()), strict=False):
            if buffer is not None and buffer.shape == leaf.shape and buffer.dtype == leaf.dtype:
                made.state[leaf]["momentum_buffer"] = buffer
        super().step(leaves, optimizer, settings, groups)
        if moved:
            self.buffers[id(made)] = [made.state[x].get("momentum_buffer") for x in moved]
        return None


def witness_StateByPosition(a: Any) -> Any:
    x, y = leaf_of(a, [1.0]), leaf_of(a, [2.0])
    settings = (("lr", 1.0), ("momentum", 0.5))
    a.backward([total(a, applied(a, "add_scaled", x, y, alpha=8.0))], [None], None)
    a.step([x, y], "sgd", settings)
    a.zero_grad([x], True)
    a.step([x, y], "sgd", settings)
    return [a.read(x).tolist(), a.read(y).tolist()]


class FalsySetting(Fault):
    """A parameter group's setting of zero or False is ignored, so that the default is used."""

    rule = "optimizers/groups"

    def optimizer(self, leaves: Sequence[Tensor], optimizer: str, settings: Any, groups: Any = ()) -> Any:
        given = tuple((count, tuple((name, value) for name, value in own if value)) for count, own in groups)
        return super().optimizer(leaves, optimizer, settings, given)


def witness_FalsySetting(a: Any) -> Any:
    x, y = leaf_of(a, [1.0]), leaf_of(a, [2.0])
    a.backward([total(a, applied(a, "add", x, y))], [None], None)
    groups = ((1, ()), (1, (("weight_decay", 0.0),)))
    a.step([x, y], "sgd", (("lr", 1.0), ("weight_decay", 0.5)), groups)
    return [a.read(x).tolist(), a.read(y).tolist()]


class NormOfLastDtype(Fault):
    """Clipping by norm groups the gradients by dtype, and uses the last group's norm for all."""

    rule = "optimizers/clips"

    def clip(self, leaves: Sequence[Tensor], kind: str, bound: float) -> None:
        held = [x.grad for x in leaves if x.grad is not None]
        dtypes = list(dict.fromkeys(g.dtype for g in held))
        if kind != "norm" or len(dtypes) < 2:
            return super().clip(leaves, kind, bound)
        with torch.no_grad():
            norm = torch.stack([g.norm() for g in held if g.dtype == dtypes[-1]]).norm()
            for gradient in held:
                gradient.mul_(torch.clamp(bound / (norm + 1e-6), max=1.0))
        return None


def witness_NormOfLastDtype(a: Any) -> Any:
    x, y = leaf_of(a, [3.0]), leaf_of(a, [4.0], "float32")
    for each in (x, y):
        a.backward([total(a, applied(a, "multiply", each, each))], [None], None)
    a.clip([x, y], "norm", 1.0)
    return held_by(a, x, y)
