"""Faults of views, and of results that are not views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import ref

import torch
from torch import Tensor

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, held_by, leaf_of, total, walked


class SumOfOneIsView(Fault):
    """A sum over dimensions of size one, which has nothing to add, is a view of its operand."""

    rule = "views/own-memory"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Any) -> Sequence[Tensor]:
        if op == "sum" and operands[0].ndim and dict(attrs)["dim"] is not None:
            x, given = operands[0], dict(attrs)
            dims = (given["dim"],) if isinstance(given["dim"], int) else given["dim"]
            if dims and all(x.shape[d] == 1 for d in dims):
                return [x.view_as(x) if given["keepdim"] else x.squeeze(dims)]
        return super().apply(op, operands, attrs)


def witness_SumOfOneIsView(a: Any) -> Any:
    c = leaf_of(a, [[1.0, 2.0]], grad=False)
    s = applied(a, "sum", c, dim=(0,), keepdim=False)
    a.write("zero_", c, [], ())
    return [a.memory(c) == a.memory(s), a.read(s).tolist()]


class EarlyView(Fault):
    """A view of a constant does not get the history of a later recorded write to the constant."""

    rule = "views/history"

    def reset(self) -> None:
        super().reset()
        self.early: dict[int, Any] = {}

    def _is_early(self, value: Tensor) -> bool:
        return id(value) in self.early and self.early[id(value)]() is value

    def _seen(self, values: Sequence[Tensor]) -> list[Tensor]:
        return [v.detach() if self._is_early(v) and v.requires_grad else v for v in values]

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Any) -> Sequence[Tensor]:
        out = super().apply(op, self._seen(operands), attrs)
        if torch.is_grad_enabled():
            self.early |= {id(v): ref(v) for v in out if v._is_view() and not v.requires_grad}
        return out

    def write(self, op: str, target: Tensor, operands: Sequence[Tensor], attrs: Any) -> None:
        self.early.pop(id(target), None)
        super().write(op, target, self._seen(operands), attrs)

    def set_requires_grad(self, value: Tensor, on: bool) -> None:
        self.early.pop(id(value), None)
        super().set_requires_grad(value, on)

    def requires_grad(self, value: Tensor) -> bool:
        return not self._is_early(value) and super().requires_grad(value)


def witness_EarlyView(a: Any) -> Any:
    x, c = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 4.0], grad=False)
    y = leaf_of(a, 5.0)
    v = applied(a, "narrow", c, dim=0, start=0, length=1)
    a.write("add_", c, [x], ())
    return [walked(a, total(a, applied(a, "multiply", v, y))), held_by(a, x)]
