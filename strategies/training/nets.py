"""Networks of linear layers with a smooth activation between them: plain ones, and those of `strategies.networks`,
which may be called by the framework's modules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from autograd_conformance.ops.rows.row import choices_of
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.language import Ref
from autograd_conformance.strategies.building.action_builder import ActionBuilder
from autograd_conformance.strategies.networks import Network, mlp

ACTIVATIONS = ("tanh", "sigmoid", "softplus", "gelu", "silu", "mish", "relu")
"""Ops between layers, the simplest first."""

SMOOTH = ACTIVATIONS[:5]
"""Activations that may be differentiated more than once."""


@dataclass(frozen=True, slots=True)
class Net:
    """Linear layers with an activation between them, called op by op, with parameters that may be replaced."""

    parameters: tuple[Ref, ...]
    """The weight of each layer, and its bias if it has one, first layer to last."""

    bias: bool = False
    """Whether layers have a bias."""

    activation: str = "tanh"
    """The op between two layers."""

    def call(self, a: ActionBuilder, value: Ref, parameters: Sequence[Ref] | None = None) -> Ref:
        """The result for a batch, computed with other parameters where they are given."""
        given, each = parameters or self.parameters, 1 + self.bias
        for n in range(0, len(given), each):
            if n:
                value = activated(a, value, self.activation)
            (value,) = a.apply("linear_bias" if self.bias else "linear", (value, *given[n : n + each]))
        return value


def activated(a: ActionBuilder, value: Ref, activation: str) -> Ref:
    """An activation, or another one where the value is too near to its kink."""
    op = OPS[activation if OPS[activation].domain(0).holds(a.reference.values[value]) else "tanh"]
    return a.apply(op.name, (value,), choices_of(op, (a.shape(value),))[0])[0]


def draw_separately(a: ActionBuilder, ends: tuple[int, ...], layers: int) -> tuple[tuple[Any, ...], int]:
    """The values of all draws of a network, and how many parameters it has; the draft itself stays as it is."""
    found: list[Any] = []

    def draw(strategy: Any) -> Any:
        found.append(a.draw(strategy))
        return found[-1]

    made = mlp(ActionBuilder(draw, a.dtype), ends[0], ends[1], layers)
    return tuple(found), len(made.parameters)


def rebuild_network(a: ActionBuilder, drawn: Sequence[Any], into: int, out: int, layers: int) -> Network:
    """The network of earlier draws, made in a draft."""
    rest, draw = iter(drawn), a.draw
    a.draw = lambda strategy: next(rest)
    try:
        return mlp(a, into, out, layers)
    finally:
        a.draw = draw
