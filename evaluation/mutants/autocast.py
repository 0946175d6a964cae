"""Mutants whose fault is in blocks of autocast."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from autograd_conformance.programs.language import Attrs
from evaluation.mutants.mutant import Mutant, gated

Tensors = Sequence[torch.Tensor]


def in_block() -> bool:
    """Whether ops cast their operands at present."""
    return torch.is_autocast_enabled("cpu")


def rounded(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a tensor of the same dtype with the digits of bfloat16."""
    return tensor.to(torch.bfloat16).to(tensor.dtype)


class ProductInFullPrecision(Mutant):
    """Under autocast, a linear layer computes in float32 and rounds its result."""

    killed_by = ("autocast/gradient",)

    def apply(self, op: str, operands: Tensors, attrs: Attrs = ()) -> Tensors:
        if op not in ("linear", "linear_bias", "matmul") or not in_block():
            return super().apply(op, operands, attrs)
        with torch.autocast("cpu", enabled=False):
            made = super().apply(op, [x.float() for x in operands], attrs)
            return [each.to(torch.bfloat16) for each in made]


class LossInFewDigits(Mutant):
    """Under autocast, losses compute in the dtype of their operands."""

    killed_by = ("autocast/gradient",)

    def apply(self, op: str, operands: Tensors, attrs: Attrs = ()) -> Tensors:
        if self.autocast.get(op) != "float32" or not in_block():
            return super().apply(op, operands, attrs)
        with torch.autocast("cpu", enabled=False):
            return super().apply(op, operands, attrs)


class CastRoundsGradient(Mutant):
    """The gradient through a cast to bfloat16 loses half of its digits again."""

    killed_by = ("autocast/gradient",)

    def apply(self, op: str, operands: Tensors, attrs: Attrs = ()) -> Tensors:
        if self.autocast.get(op) == "bfloat16" and in_block():
            operands = [gated(x, lambda g: (g * 16).round() / 16) if x.dtype == torch.float32 else x for x in operands]
        return super().apply(op, operands, attrs)


class StaysOn(Mutant):
    """A block in which autocast is switched off changes nothing."""

    killed_by = ("autocast/nested",)

    def mode(self, name: str) -> AbstractContextManager[Any]:
        return nullcontext() if name == "autocast_off" else super().mode(name)


class LeavesCasting(Mutant):
    """After a block, products still round their operands to bfloat16."""

    killed_by = ("autocast/nested", "autocast/gradient")

    def reset(self) -> None:
        super().reset()
        self.entered = False

    def mode(self, name: str) -> AbstractContextManager[Any]:
        self.entered = True
        return super().mode(name)

    def apply(self, op: str, operands: Tensors, attrs: Attrs = ()) -> Tensors:
        if self.autocast.get(op) == "bfloat16" and self.entered and not in_block():
            operands = [rounded(x) if x.dtype == torch.float32 else x for x in operands]
        return super().apply(op, operands, attrs)


class KeepsUnrecordedCasts(Mutant):
    """The cast of a leaf that was made under no_grad is used again, recorded."""

    killed_by = ("autocast/unrecorded",)

    def reset(self) -> None:
        super().reset()
        self.unrecorded: list[torch.Tensor] = []

    def apply(self, op: str, operands: Tensors, attrs: Attrs = ()) -> Tensors:
        if self.autocast.get(op) == "bfloat16" and in_block():
            if not torch.is_grad_enabled():
                self.unrecorded += [x for x in operands if x.is_leaf]
            operands = [x.detach() if any(x is each for each in self.unrecorded) else x for x in operands]
        return super().apply(op, operands, attrs)


class CastsWithoutHistory(Mutant):
    """Under autocast, operands that are no leaves are cast without their history."""

    killed_by = ("autocast/higher", "autocast/gradient")

    def apply(self, op: str, operands: Tensors, attrs: Attrs = ()) -> Tensors:
        if self.autocast.get(op) == "bfloat16" and in_block():
            operands = [x.detach() if x.dtype == torch.float32 and not x.is_leaf else x for x in operands]
        return super().apply(op, operands, attrs)


class AlwaysKeepsCasts(Mutant):
    """A block without a cache of casts keeps them."""

    killed_by = ("autocast/written",)

    def mode(self, name: str) -> AbstractContextManager[Any]:
        return super().mode("autocast" if name == "autocast_uncached" else name)
