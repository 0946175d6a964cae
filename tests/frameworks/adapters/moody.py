"""Adapters of frameworks with intermittent faults: every other time, or only after another op."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from autograd_conformance.programs.language import Attrs
from examples import tiny
from examples.tiny_adapter import Tiny


def _wrong_sine(a: tiny.Tensor) -> tiny.Tensor:
    return tiny.record(np.sin(a.data), (a,), lambda g: (g * np.sin(a.data),))


class EveryOther(Tiny):
    """The derivative of every other sine is `sin`."""

    name = "every other"
    sines: ClassVar[int] = 0

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        if op != "sin":
            return super().apply(op, operands, attrs)
        EveryOther.sines += 1
        return (_wrong_sine(operands[0]),) if EveryOther.sines % 2 else super().apply(op, operands, attrs)


class AfterExp(Tiny):
    """The sine is faulty after the first exponential in the process, in any program."""

    name = "after exp"
    spoilt: ClassVar[bool] = False

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        AfterExp.spoilt |= op == "exp"
        if op == "sin" and AfterExp.spoilt:
            return (_wrong_sine(operands[0]),)
        return super().apply(op, operands, attrs)


class BySeed(Tiny):
    """The sine is faulty in a process with hash seed 0, which is the seed without randomisation."""

    name = "by seed"

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        if op == "sin" and not sys.flags.hash_randomization:
            return (_wrong_sine(operands[0]),)
        return super().apply(op, operands, attrs)


class DiesOfSine(Tiny):
    """The sine of three elements ends the process."""

    name = "dies of sine"

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        if op == "sin" and operands[0].data.size == 3:
            os._exit(0)
        return super().apply(op, operands, attrs)


class EndsWhileLoaded(Tiny):
    """The process ends while the adapter is loaded."""

    name = "ends while loaded"

    def __init__(self) -> None:
        super().__init__()
        os._exit(0)
