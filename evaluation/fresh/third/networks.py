"""Faults of modules and of random ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import Straight, after, applied, held_by, leaf_of, total


class StepNotCounted(Fault):
    """A linear layer keeps its weight packed for the next call. An in-place write discards the packed weight and a step
    does not: after a step the layer uses the old weight.
    """

    rule = "training/loop"

    def reset(self) -> None:
        super().reset()
        self.packed: dict[int, tuple[Tensor, Tensor]] = {}

    def write(self, op: str, target: Tensor, operands: Sequence[Tensor], attrs: Any) -> None:
        self.packed.clear()
        super().write(op, target, operands, attrs)

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Any) -> Sequence[Tensor]:
        if op == "nn_linear" and operands[1].is_leaf:
            weight = operands[1]
            _, packed = self.packed.setdefault(id(weight), (weight, weight.detach().clone()))
            if not torch.equal(packed, weight):
                operands = [operands[0], Straight.apply(weight, packed), *operands[2:]]
        return super().apply(op, operands, attrs)


def witness_StepNotCounted(a: Any) -> Any:
    x, w = leaf_of(a, [[1.0, 2.0]], grad=False), leaf_of(a, [[3.0, 4.0]])
    told = []
    for _ in range(2):
        y = applied(a, "nn_linear", x, w, bias=False)
        told.append(a.read(y).tolist())
        a.backward([y], [None], None)
        a.step([w], "sgd", (("lr", 1.0),))
    return told


class DroppedByResult(Fault):
    """The derivative of dropout takes a result of zero for a dropped element, even if the operand was zero."""

    rule = "networks/random"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Any) -> Sequence[Tensor]:
        out = super().apply(op, operands, attrs)
        if op == "dropout":
            zero = out[0].detach() == 0
            after(out[0], lambda g, c: [g[0].masked_fill(zero, 0.0), *g[1:]] if g[0] is not None else None)
        return out


def witness_DroppedByResult(a: Any) -> Any:
    x = leaf_of(a, [0.0, 0.0, 0.0, 1.0, 2.0, 3.0])
    a.backward([total(a, applied(a, "dropout", x, seed=3, p=0.5))], [None], None)
    return held_by(a, x)
