"""Faults of in-place writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import applied, held_by, leaf_of, total, walked


class UncountedConstant(Fault):
    """A write under no_grad to a value that does not require grad (a buffer) is not counted, so that a call that needs
    the old value does not detect it.
    """

    rule = "writes/error-or-recorded"

    def write(self, op: str, target: Tensor, operands: Sequence[Tensor], attrs: Any) -> None:
        version, plain = target._version, not target.requires_grad and not torch.is_grad_enabled()
        super().write(op, target, operands, attrs)
        if plain:
            torch._C._autograd._unsafe_set_version_counter((target,), (version,))


def witness_UncountedConstant(a: Any) -> Any:
    x, c = leaf_of(a, [1.0, 2.0]), leaf_of(a, [3.0, 4.0], grad=False)
    y = total(a, applied(a, "multiply", x, c))
    with a.mode("no_grad"):
        a.write("add_scalar_", c, [], (("scalar", 1.0),))
    return [walked(a, y), held_by(a, x)]


class GapsFilled(Fault):
    """Filling a slice with a step fills all memory from its first element to its last."""

    rule = "writes/nothing-else"

    def write(self, op: str, target: Tensor, operands: Sequence[Tensor], attrs: Any) -> None:
        super().write(op, target, operands, attrs)
        if op in ("fill_", "zero_") and target.ndim == 1 and target.numel() > 1 and target.stride(0) > 1:
            with torch.no_grad():
                extent = (target.numel() - 1) * target.stride(0) + 1
                target.detach().as_strided((extent,), (1,)).fill_(dict(attrs).get("value", 0.0))


def witness_GapsFilled(a: Any) -> Any:
    c = leaf_of(a, [1.0, 2.0, 3.0, 4.0], grad=False)
    even = applied(a, "slice", c, start=0, stop=4, step=2)
    odd = applied(a, "slice", c, start=1, stop=4, step=2)
    a.write("zero_", even, [], ())
    return a.read(odd).tolist()
