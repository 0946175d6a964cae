"""A plan: all that there is to choose about a training loop, so that the same loop can be built again, with a mistake
or without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from autograd_conformance.strategies.building.optimizers import OptimizerChoice


class LoopBug(Enum):
    """A step of a training loop that people forget, or do in the wrong order."""

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
    """A training loop of one pattern: its sizes, settings and data, and the mistakes that are made in it."""

    pattern: str
    """The name of the pattern, in `patterns.PATTERNS`."""

    dtype: str = "float64"
    """The dtype of all parameters and data."""

    iterations: int = 1
    """How many iterations the loop has; one whose numbers grow ends before."""

    layers: int = 1
    """How many linear layers each network has."""

    bias: bool = False
    """Whether layers have a bias."""

    activation: str = "tanh"
    """The op between two layers."""

    loss: str = "mse_loss"
    """The op that compares a result with its target."""

    reduction: str = "mean"
    """How the loss makes one number of its elements: "mean" or "sum"."""

    wide: int = 2
    """The width of inputs and hidden layers."""

    out: int = 1
    """The width of results."""

    batch: int = 2
    """How many samples a batch has."""

    count: int = 1
    """How many losses, parts of a batch, time steps or inner steps an iteration has, as the pattern says."""

    variant: int = 0
    """Which variant of the pattern it is, from 0 on; the docstring of the pattern's function says what they are."""

    optimizers: tuple[OptimizerChoice, ...] = (("sgd", (("lr", 0.125),), ()),)
    """The optimizers, each with its settings and parameter groups."""

    clearing: Clearing = Clearing.FIRST
    """Where in an iteration gradients are cleared."""

    to_none: bool = True
    """Whether they are cleared to none, or to zeros."""

    clip: tuple[str, float] | None = None
    """How gradients are clipped before a step: by "norm" or "value", and to which bound."""

    fresh: bool = False
    """Whether each iteration has a batch of its own."""

    deletes: bool = True
    """Whether what an iteration computed is deleted at its end, as when variables are assigned again."""

    data: bytes = b"\0"
    """The bytes that the numbers of all batches, targets and plain parameters are made from."""

    bugs: frozenset[LoopBug] = frozenset()
    """The mistakes that are made; the loop is right where there are none."""

    networks: tuple[tuple[Any, ...], ...] = ()
    """Where networks are those of `strategies.networks`: for each, what was drawn, by which it is built again."""

    def widths(self, *ends: int | str) -> tuple[int, ...]:
        """The widths that a network goes between, as numbers."""
        named = {"wide": self.wide, "out": self.out}
        return tuple(end if isinstance(end, int) else named[end] for end in ends)

    def with_bugs(self, *bugs: LoopBug) -> Plan:
        """The same loop with other mistakes, or none."""
        return replace(self, bugs=frozenset(bugs))
