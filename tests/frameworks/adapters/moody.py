"""Adapters of frameworks that are wrong at times: every other time, or only after something else."""

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
    """Every other sine takes `sin` for its own derivative."""

    name = "every other"
    sines: ClassVar[int] = 0

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        if op != "sin":
            return super().apply(op, operands, attrs)
        EveryOther.sines += 1
        return (_wrong_sine(operands[0]),) if EveryOther.sines % 2 else super().apply(op, operands, attrs)


class AfterExp(Tiny):
    """Its sine is wrong for good once an exponential was computed, in whatever program."""

    name = "after exp"
    spoilt: ClassVar[bool] = False

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        AfterExp.spoilt |= op == "exp"
        if op == "sin" and AfterExp.spoilt:
            return (_wrong_sine(operands[0]),)
        return super().apply(op, operands, attrs)


class BySeed(Tiny):
    """Its sine is wrong in a process whose hashes of strings have the seed 0, which is to draw none."""

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
    """The process ends before there is an adapter."""

    name = "ends while loaded"

    def __init__(self) -> None:
        super().__init__()
        os._exit(0)
