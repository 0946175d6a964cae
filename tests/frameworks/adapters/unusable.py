"""Unusable adapters: the run ends before any verdict."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.observations import Kind
from examples.tiny import Tensor
from examples.tiny_adapter import Tiny


class Incomplete(Tiny):
    """It lacks `backward` and `classify`."""

    backward = None  # type: ignore[assignment]
    classify = None  # type: ignore[assignment]


class Raising(Tiny):
    """Its constructor raises."""

    def __init__(self, device: str = "cpu") -> None:
        raise OSError("no such device")


class Leafless(Tiny):
    """It cannot make a leaf."""

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Tensor:
        raise NotImplementedError("to be written")


class Rounding(Tiny):
    """It computes in float32, reports float64, and insists on float64."""

    insists = ("float64",)

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Tensor:
        return super().leaf(data.astype(np.float32), requires_grad)


class Unreadable(Tiny):
    """It cannot read a gradient, which fails only after the smoke test."""

    def read(self, value: Tensor | np.ndarray) -> np.ndarray:
        if isinstance(value, np.ndarray):
            raise NotImplementedError("to be written")
        return super().read(value)


class Lonely(Tiny):
    """`apply` returns a tensor instead of a sequence of results."""

    def apply(self, op, operands, attrs):  # type: ignore[no-untyped-def]
        return super().apply(op, operands, attrs)[0]


class Guessing(Tiny):
    """`classify` returns the kind of a freed graph for every exception."""

    def classify(self, error: BaseException) -> Kind:
        return Kind.GRAPH_FREED


class Misspelt(Tiny):
    """It names an op that is not in the catalogue."""

    ops = Tiny.ops | {"mul"}


class Speechless(Tiny):
    """Its dialect has no template for an op that it claims."""

    dialect = replace(Tiny.dialect, ops={name: code for name, code in Tiny.dialect.ops.items() if name != "exp"})


class Halved(Tiny):
    """It names a dtype that no program uses."""

    dtypes = ("float8",)


class Scalar(Tiny):
    """Its values are single numbers, but it does not declare that."""

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Tensor:
        return super().leaf(np.array(float(data)), requires_grad)


class Traitless(Tiny):
    """Its traits are not a `Traits`."""

    traits = {"scalars": True}


class Sourceless(Tiny):
    """It cites a source for a trait that does not exist."""

    trait_sources = {"scalar": "https://example.org"}


class CreatesNowhere(Tiny):
    """It claims that it creates graphs, but not by which calls."""

    capabilities = Tiny.capabilities | {Capability.CREATE_GRAPH}
