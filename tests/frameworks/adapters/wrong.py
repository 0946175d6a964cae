"""Adapters of frameworks that break a rule, or are slow to keep it."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from autograd_conformance.programs.language import Attrs
from autograd_conformance.programs.observations import Kind
from examples import tiny
from examples.tiny_adapter import Tiny


class WrongSine(Tiny):
    """It takes `sin` for its own derivative."""

    name = "wrong sine"

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        if op != "sin":
            return super().apply(op, operands, attrs)
        (a,) = operands
        return (tiny.record(np.sin(a.data), (a,), lambda g: (g * np.sin(a.data),)),)


class Cryptic(Tiny):
    """Nobody knows what its exceptions mean."""

    name = "cryptic"

    def classify(self, error: Exception) -> Kind:
        return Kind.UNKNOWN


class Slow(Tiny):
    """Every op takes a hundredth of a second."""

    name = "slow"
    ops = frozenset({"multiply", "sum", "add"})

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        time.sleep(0.01)
        return super().apply(op, operands, attrs)


class Single(Tiny):
    """It has float32 only."""

    name = "single"
    dtypes = ("float32",)
