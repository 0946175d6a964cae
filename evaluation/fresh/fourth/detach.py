"""Faults of detaching."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, leaf_of

_UNARY = {"sin", "cos", "exp", "log", "sqrt", "square", "tanh", "sigmoid", "relu", "abs", "silu", "softplus", "gelu"}


class CommonSubexpression(Fault):
    """An elementwise function of the same unchanged memory is not recomputed, even if one operand is detached."""

    rule = "detach/blocks"

    def reset(self) -> None:
        super().reset()
        self.known: dict[Any, tuple[Tensor, Tensor, int]] = {}

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        if op not in _UNARY or not operands[0].numel() or not torch.is_grad_enabled():
            return super().apply(op, operands, attrs)
        (x,) = operands
        key = (op, attrs, x.data_ptr(), x._version, x.shape, x.stride(), x.dtype)
        if not x.requires_grad:
            if key in self.known and self.known[key][1]._version == self.known[key][2]:
                return (self.known[key][1].clone(),)
            return super().apply(op, operands, attrs)
        (out,) = super().apply(op, operands, attrs)
        self.known[key] = (x, out, out._version)
        return (out,)


def witness_CommonSubexpression(a: Any) -> Any:
    x = leaf_of(a, [1.0, 2.0])
    applied(a, "sin", x)
    return a.requires_grad(applied(a, "sin", a.detach(x)))
