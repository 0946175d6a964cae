"""Networks of training loops: linear layers with a smooth activation between them, plain or from `strategies.networks`,
which may call the framework's modules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from autograd_conformance.ops.rows.row import choices_of
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.language import Ref
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.building.randomness.choices import Choices
from autograd_conformance.strategies.networks import Network, mlp

ACTIVATIONS = ("tanh", "sigmoid", "softplus", "gelu", "silu", "mish", "relu")
"""Activations between layers, simplest first."""

SMOOTH = ACTIVATIONS[:5]
"""Activations that can be differentiated more than once."""


@dataclass(frozen=True, slots=True)
class Net:
    """Linear layers with an activation between them, called op by op, with replaceable parameters."""

    parameters: tuple[Ref, ...]
    """The weight of each layer, and its bias if it has one, from the first layer to the last."""

    bias: bool = False
    """Whether layers have a bias."""

    activation: str = "tanh"
    """The activation op between two layers."""

    def call(self, a: Draft, value: Ref, parameters: Sequence[Ref] | None = None) -> Ref:
        """Computes the result for a batch, with other parameters if given."""
        given, each = parameters or self.parameters, 1 + self.bias
        for n in range(0, len(given), each):
            if n:
                value = activated(a, value, self.activation)
            (value,) = a.apply("linear_bias" if self.bias else "linear", (value, *given[n : n + each]))
        return value


def activated(a: Draft, value: Ref, activation: str) -> Ref:
    """Applies an activation to a value, or tanh if the value is outside the activation's domain, such as too near a
    kink.
    """
    op = OPS[activation if OPS[activation].domain(0).holds(a.reference.values[value]) else "tanh"]
    return a.apply(op.name, (value,), choices_of(op, (a.shape(value),))[0])[0]


def draw_separately(a: Draft, ends: tuple[int, ...], layers: int) -> tuple[tuple[Any, ...], int]:
    """Draws a network without adding it to the program. Returns all values that Hypothesis drew for it, from which
    `rebuild_network` builds it, and its number of parameters.
    """
    found: list[Any] = []

    def draw(strategy: Any) -> Any:
        found.append(a.choices.draw(strategy))
        return found[-1]

    made = mlp(Draft(Choices(draw), a.operands.dtype), ends[0], ends[1], layers)
    return tuple(found), len(made.parameters)


def rebuild_network(a: Draft, drawn: Sequence[Any], into: int, out: int, layers: int) -> Network:
    """Builds a network in a program from the drawn values of `draw_separately`."""
    rest, draw = iter(drawn), a.choices.draw
    a.choices.draw = lambda strategy: next(rest)
    try:
        return mlp(a, into, out, layers)
    finally:
        a.choices.draw = draw
