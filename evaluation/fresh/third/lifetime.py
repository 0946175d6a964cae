"""Faults of the lifetime of graphs and of saved tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import ref

import numpy as np
import torch
from torch import Tensor

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import after, applied, held_by, leaf_of, walked


class CommonSubexpression(Fault):
    """An op of two operands that was applied to them before returns the earlier result while that is alive and nothing
    was written, even if its graph was freed.
    """

    rule = "lifetime/rebuilt"

    def reset(self) -> None:
        super().reset()
        self.known: dict[Any, Any] = {}

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Any) -> Sequence[Tensor]:
        flags = tuple((id(x), x._version, x.requires_grad) for x in operands)
        key = (op, flags, attrs, torch.is_grad_enabled())
        if key in self.known:
            sources, earlier = self.known[key]
            result = earlier()
            alive = all(s() is x for s, x in zip(sources, operands, strict=True))
            if alive and result is not None and result._version == 0:
                return (result,)
        out = super().apply(op, operands, attrs)
        if len(out) == 1 and len(operands) == 2 and not out[0]._is_view():
            self.known[key] = ([ref(x) for x in operands], ref(out[0]))
        return out


def witness_CommonSubexpression(a: Any) -> Any:
    x, y = leaf_of(a, 2.0), leaf_of(a, 3.0)
    first = applied(a, "multiply", x, y)
    told = [walked(a, first)]
    second = applied(a, "multiply", x, y)
    return [*told, walked(a, second), a.read(first).tolist()]


class ResultAsWorkspace(Fault):
    """The derivative of softmax multiplies its saved result by the cotangent in place, so that a second call on the
    retained graph starts from the product.
    """

    rule = "lifetime/retained-works"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Any) -> Sequence[Tensor]:
        out = super().apply(op, operands, attrs)
        if op == "softmax":
            dim, y = dict(attrs)["dim"], out[0].detach()
            kept: list[Tensor] = []

            def change(gradients: list, cotangents: Sequence) -> list | None:
                if torch.is_grad_enabled() or cotangents[0] is None:
                    return None
                used = kept[0] if kept else y
                product = used * cotangents[0]
                made = product - used * product.sum(dim, keepdim=True)
                first = not kept
                kept[:] = [product]
                return None if first else [made, *gradients[1:]]

            after(out[0], change)
        return out


def witness_ResultAsWorkspace(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0, 4.0])
    y = applied(a, "softmax", x, dim=0)
    for _ in range(2):
        a.backward([y], [np.array([1.0, 2.0, 0.0])], True)
    return held_by(a, x)
