"""A plan: all choices of a training loop, so that the loop can be built again with or without a bug."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from autograd_conformance.strategies.building.optimizers import OptimizerChoice


class LoopBug(Enum):
    """A bug that users write into training loops: a statement that is missing, repeated or in the wrong place."""

    ZERO = "`zero_grad` missing"
    TWICE = "`backward` twice"
    EARLY = "step between forward and backward"
    CLEARED = "`zero_grad` between backward and step"
    RETAIN = "`retain_graph` missing"
    BETWEEN = "step between two backward calls"
    DETACH = "`detach` missing"


class Clearing(Enum):
    """The point of an iteration at which gradients are cleared. All three are correct."""

    FIRST = "at its top"
    BEFORE = "just before backward"
    LAST = "after the step"


@dataclass(frozen=True, slots=True)
class Plan:
    """A training loop of one pattern: its sizes, settings, data and bugs."""

    pattern: str
    """The name of the pattern, a key of `patterns.PATTERNS`."""

    dtype: str = "float64"
    """The dtype of all parameters and data."""

    iterations: int = 1
    """Number of iterations. A loop whose values grow too large ends earlier."""

    layers: int = 1
    """Number of linear layers of each network."""

    bias: bool = False
    """Whether the layers of plain networks have a bias; networks of `strategies.networks` draw their own."""

    activation: str = "tanh"
    """The activation op between two layers of plain networks; networks of `strategies.networks` draw their own."""

    loss: str = "mse_loss"
    """The loss op."""

    reduction: str = "mean"
    """The reduction of the loss: "mean" or "sum"."""

    wide: int = 2
    """The width of inputs and hidden layers."""

    out: int = 1
    """The width of results."""

    batch: int = 2
    """Number of samples of a batch."""

    count: int = 1
    """Number of losses, parts of a batch, time steps or inner steps of an iteration, depending on the pattern."""

    variant: int = 0
    """The variant of the pattern, from 0; the docstring of the pattern's function describes the variants."""

    optimizers: tuple[OptimizerChoice, ...] = (("sgd", (("lr", 0.125),), ()),)
    """The optimizers, each with its settings and parameter groups, in the order of the pattern's `owns`."""

    clearing: Clearing = Clearing.FIRST
    """The point of an iteration at which gradients are cleared."""

    to_none: bool = True
    """Whether gradients are cleared to None; otherwise to zeros."""

    clip: tuple[str, float] | None = None
    """Clipping of gradients before a step: "norm" or "value", and the bound. None if gradients are not clipped."""

    fresh: bool = False
    """Whether each iteration has a new batch; otherwise all iterations have the same."""

    deletes: bool = True
    """Whether values of an iteration are deleted at its end, as when variables are assigned again."""

    data: bytes = b"\0"
    """The bytes from which all batches, targets and plain parameters are made."""

    bugs: frozenset[LoopBug] = frozenset()
    """The bugs of the loop; it is correct if there are none."""

    networks: tuple[tuple[Any, ...], ...] = ()
    """For networks of `strategies.networks`, the drawn values of each, from which it is built again; empty if the loop
    has plain linear layers.
    """

    def widths(self, *ends: int | str) -> tuple[int, ...]:
        """Returns the widths of a network as numbers: "wide" and "out" are replaced by the plan's."""
        named = {"wide": self.wide, "out": self.out}
        return tuple(end if isinstance(end, int) else named[end] for end in ends)

    def with_bugs(self, *bugs: LoopBug) -> Plan:
        """Returns the plan of the same loop with other bugs, or none."""
        return replace(self, bugs=frozenset(bugs))
