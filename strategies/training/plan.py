"""A plan: all that there is to choose about a training loop, so that the same loop can be built again, with a mistake
or without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from autograd_conformance.strategies.building.optimizers import Drawn


class Mistake(Enum):
    """What people forget, or do in the wrong order."""

    ZERO = "`zero_grad` missing"
    TWICE = "`backward` twice"
    EARLY = "step between forward and backward"
    CLEARED = "`zero_grad` between backward and step"
    RETAIN = "`retain_graph` missing"
    BETWEEN = "step between two backward calls"
    DETACH = "`detach` missing"


class Clearing(Enum):
    """Where in an iteration gradients are cleared: all three are right."""

    FIRST = "at its top"
    BEFORE = "just before backward"
    LAST = "after the step"


@dataclass(frozen=True, slots=True)
class Plan:
    """A training loop of one pattern: its sizes, settings and data, and the mistakes that are made in it.

    All networks have `layers` layers. `wide` is the width of inputs and hidden layers, `out` that of results, `batch`
    how many samples there are. `count` is how many losses, parts, time steps or inner steps the pattern has, and `way`
    which of its variants it is. `fresh` says whether each iteration has a batch of its own, `drops` whether what an
    iteration made goes away at its end, as when names are bound again. All numbers come from the bytes of `data`, but
    for those of `networks`: where there are some, each is one of `strategies.networks`, made again by what was drawn
    for it.
    """

    pattern: str
    dtype: str = "float64"
    iterations: int = 1
    layers: int = 1
    bias: bool = False
    activation: str = "tanh"
    loss: str = "mse_loss"
    reduction: str = "mean"
    wide: int = 2
    out: int = 1
    batch: int = 2
    count: int = 1
    way: int = 0
    optimizers: tuple[Drawn, ...] = (("sgd", (("lr", 0.125),), ()),)
    clearing: Clearing = Clearing.FIRST
    to_none: bool = True
    clip: tuple[str, float] | None = None
    fresh: bool = False
    drops: bool = True
    data: bytes = b"\0"
    mistakes: frozenset[Mistake] = frozenset()
    networks: tuple[tuple[Any, ...], ...] = ()

    def widths(self, *ends: int | str) -> tuple[int, ...]:
        """The widths that a network goes between, as numbers."""
        named = {"wide": self.wide, "out": self.out}
        return tuple(end if isinstance(end, int) else named[end] for end in ends)

    def with_mistakes(self, *mistakes: Mistake) -> Plan:
        """The same loop with other mistakes, or none."""
        return replace(self, mistakes=frozenset(mistakes))
