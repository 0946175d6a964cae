"""Faults that two related programs show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import after, applied, held_by, leaf_of


class SoftmaxWorkspace(Fault):
    """softmax saves its result for the derivative in one workspace for each shape, dtype and dim."""

    rule = "relations/interleaved"

    def reset(self) -> None:
        super().reset()
        self.spaces: dict[Any, Tensor] = {}

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op == "softmax":
            dim = dict(attrs)["dim"]
            key = (made[0].shape, made[0].dtype, dim)
            mine = self.spaces[key] = made[0].detach().clone()

            def derived(_: list, cotangents: Sequence) -> list | None:
                y, g = self.spaces[key], cotangents[0]
                if y is mine or g is None or torch.is_grad_enabled():
                    return None
                return [y * (g - (g * y).sum(dim, keepdim=True))]

            after(made[0], derived)
        return made


def witness_SoftmaxWorkspace(a: Any) -> Any:
    x, y = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 5.0])
    first = applied(a, "softmax", x, dim=0)
    applied(a, "softmax", y, dim=0)
    a.backward([first], [a.read(x)], None)
    return held_by(a, x)
