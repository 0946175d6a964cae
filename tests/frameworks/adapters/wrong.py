"""Adapters of frameworks that break a rule, or are slow to keep it."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import numpy as np

from autograd_conformance.programs.capabilities import Capability, Traits
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


class SteepSine(Tiny):
    """The derivative of its sine is a tenth too large."""

    name = "steep sine"

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        if op != "sin":
            return super().apply(op, operands, attrs)
        (a,) = operands
        return (tiny.record(np.sin(a.data), (a,), lambda g: (g * np.cos(a.data) * np.float32(1.1).astype(g.dtype),)),)


class LongToLoad(WrongSine):
    """The same, which is long in loading: four times what its programs may take."""

    name = "long to load"

    def __init__(self, device: str = "cpu") -> None:
        time.sleep(8)


class WrongSum(Tiny):
    """Its sum of nothing has a wrong shape, and no call can begin at several elements without a sum."""

    name = "wrong sum"
    capabilities = Tiny.capabilities - {Capability.COTANGENTS}

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        (made, *_) = super().apply(op, operands, attrs)
        if op == "sum" and not operands[0].data.size:
            made.data = made.data.reshape(())
        return (made,)


class Summless(Tiny):
    """It takes no cotangents, and cannot add up what a tensor holds."""

    name = "summless"
    capabilities = Tiny.capabilities - {Capability.COTANGENTS}
    ops = frozenset({"add", "sin"})


class Scalars(Summless):
    """Its values are single numbers."""

    name = "scalars"
    traits = Traits(scalars=True)

    def leaf(self, data: np.ndarray, requires_grad: bool) -> tiny.Tensor:
        return super().leaf(np.array(float(data), data.dtype), requires_grad)


class Cryptic(Tiny):
    """Nobody knows what its exceptions mean."""

    name = "cryptic"

    def classify(self, error: BaseException) -> Kind:
        return Kind.UNKNOWN


class Slow(Tiny):
    """Every op takes a hundredth of a second; no two processes are of one version, so that no audit is kept."""

    name = "slow"
    version = f"1.0.{os.getpid()}"
    ops = frozenset({"multiply", "sum", "add"})

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        time.sleep(0.01)
        return super().apply(op, operands, attrs)


class Single(Tiny):
    """It has float32 only."""

    name = "single"
    dtypes = ("float32",)
