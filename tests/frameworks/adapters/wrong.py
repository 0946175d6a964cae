"""Adapters of frameworks that violate a rule, or are slow."""

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
    """The derivative of `sin` is `sin`."""

    name = "wrong sine"

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        if op != "sin":
            return super().apply(op, operands, attrs)
        (a,) = operands
        return (tiny.record(np.sin(a.data), (a,), lambda g: (g * np.sin(a.data),)),)


class SteepSine(Tiny):
    """The derivative of the sine is ten per cent too large."""

    name = "steep sine"

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        if op != "sin":
            return super().apply(op, operands, attrs)
        (a,) = operands
        return (tiny.record(np.sin(a.data), (a,), lambda g: (g * np.cos(a.data) * np.float32(1.1).astype(g.dtype),)),)


class LongToLoad(WrongSine):
    """The same, and loading takes four times as long as a program may."""

    name = "long to load"

    def __init__(self, device: str = "cpu") -> None:
        time.sleep(8)


class WrongSum(Tiny):
    """The sum of an empty tensor has a wrong shape. Without cotangents, a root of several elements needs a sum."""

    name = "wrong sum"
    capabilities = Tiny.capabilities - {Capability.COTANGENTS}

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        (made, *_) = super().apply(op, operands, attrs)
        if op == "sum" and not operands[0].data.size:
            made.data = made.data.reshape(())
        return (made,)


class Summless(Tiny):
    """It has no cotangents, and no sum."""

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
    """`classify` recognises no exception."""

    name = "cryptic"

    def classify(self, error: BaseException) -> Kind:
        return Kind.UNKNOWN


class Slow(Tiny):
    """Each op takes a hundredth of a second. Each run has another version, so that audits are not reused."""

    name = "slow"
    version = os.environ.setdefault("SLOW_VERSION", f"1.0.{os.getpid()}")  # the run's other processes inherit it
    ops = frozenset({"multiply", "sum", "add"})

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        time.sleep(0.01)
        return super().apply(op, operands, attrs)


class Slower(Slow):
    """Each op takes a tenth of a second more."""

    name = "slower"

    def apply(self, op: str, operands: Sequence[tiny.Tensor], attrs: Attrs) -> Sequence[tiny.Tensor]:
        time.sleep(0.1)
        return super().apply(op, operands, attrs)


class Single(Tiny):
    """It has only float32."""

    name = "single"
    dtypes = ("float32",)
