"""Linear layers, and networks of several linear layers with an activation between them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from autograd_conformance.programs.language import Attrs, Ref
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.networks.network import (
    WEIGHT,
    Network,
    Parameters,
    affine,
    apply_module,
    by_module,
    op,
)

ACTIVATIONS = ("tanh", "sigmoid", "gelu", "silu", "sin")
"""Activations between two layers, smooth everywhere."""

WIDTHS = (2, 1, 3)


@dataclass(frozen=True)
class Linear(Network):
    """One linear layer."""

    bias: bool
    """Whether the layer has a bias."""

    @property
    def modules(self) -> tuple[str, ...]:
        return ("nn_linear",)

    def module(self, a: Draft, *inputs: Ref) -> list[Ref]:
        return apply_module(a, "nn_linear", _settings(self.bias), (*inputs, *self.operands))

    def composed(self, a: Draft, *inputs: Ref) -> list[Ref]:
        return [affine(a, inputs[0], *self.operands)]

    def inputs(self, a: Draft, requires_grad: bool = False) -> list[Ref]:
        return [a.leaf((a.pick((2, 1, 3)), a.shape(self.operands[0])[1]), requires_grad, WEIGHT)]


@dataclass(frozen=True)
class Mlp(Network):
    """Linear layers with an activation after each except the last."""

    layers: tuple[Linear, ...]
    """The layers, first to last."""

    activation: str
    """The activation op between two layers."""

    @property
    def modules(self) -> tuple[str, ...]:
        return ("nn_linear",)

    def module(self, a: Draft, *inputs: Ref) -> list[Ref]:
        return self._run(a, inputs[0], True)

    def composed(self, a: Draft, *inputs: Ref) -> list[Ref]:
        return self._run(a, inputs[0], False)

    def _run(self, a: Draft, x: Ref, module: bool) -> list[Ref]:
        for number, layer in enumerate(self.layers):
            x = op(a, self.activation, x) if number else x
            (x,) = layer.module(a, x) if module else layer.composed(a, x)
        return [x]

    def inputs(self, a: Draft, requires_grad: bool = False) -> list[Ref]:
        return self.layers[0].inputs(a, requires_grad)


def linear(a: Draft, i: int, o: int, bias: bool = True, frozen: bool = False) -> Linear:
    """Draws the parameters of a linear layer from `i` features to `o`."""
    drawn = Parameters(a, frozen)
    drawn.for_module("nn_linear", _settings(bias), inputs=i, outputs=o)
    return Linear(drawn.refs, drawn.names, by_module(a, "nn_linear"), bias)


def mlp(a: Draft, width_in: int, width_out: int, layers: int | None = None, frozen: bool = False) -> Mlp:
    """Draws the parameters of one to three linear layers, or of `layers` of them. Layers of one shape may share their
    parameters.
    """
    count = 1 + a.below(3) if layers is None else layers
    widths = [width_in, *(a.pick(WIDTHS) for _ in range(count - 1)), width_out]
    bias = a.below(4) < 3
    drawn, made = Parameters(a, frozen), []
    way = by_module(a, "nn_linear")
    for number, (i, o) in enumerate(pairwise(widths)):
        refs = drawn.for_module("nn_linear", _settings(bias), f"{number}.", inputs=i, outputs=o)
        made.append(Linear(refs, drawn.names[-len(refs) :], way, bias))
    return Mlp(drawn.refs, drawn.names, way, tuple(made), a.pick(a.available(*ACTIVATIONS)))


def _settings(bias: bool) -> Attrs:
    return (("bias", bias),)
