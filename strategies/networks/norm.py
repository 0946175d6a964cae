"""Layer normalisation over the last dimension or the last two."""

from __future__ import annotations

from dataclasses import dataclass

from autograd_conformance.programs.language import Attrs, Ref, Shape
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.networks.network import (
    WEIGHT,
    Network,
    Parameters,
    apply_module,
    by_module,
    normalised,
    scaled,
)

SHAPES: tuple[Shape, ...] = ((2, 3), (2, 2, 3))
"""Shapes of inputs that normalise at least three features together."""


@dataclass(frozen=True)
class LayerNorm(Network):
    """Layer normalisation over the last dimension or the last two."""

    shape: Shape
    """The shape of inputs."""

    settings: Attrs
    """The settings of the framework's module, including the shape to normalise over."""

    @property
    def modules(self) -> tuple[str, ...]:
        return ("nn_layer_norm",)

    def module(self, a: Draft, *inputs: Ref) -> list[Ref]:
        return apply_module(a, "nn_layer_norm", self.settings, (*inputs, *self.operands))

    def composed(self, a: Draft, *inputs: Ref) -> list[Ref]:
        rank, over = len(self.shape), len(dict(self.settings)["normalized_shape"])  # type: ignore[arg-type]
        out = normalised(a, inputs[0], tuple(range(rank - over, rank)))
        return [scaled(a, out, *self.operands) if self.operands else out]

    def inputs(self, a: Draft, requires_grad: bool = False) -> list[Ref]:
        return [a.leaf(self.shape, requires_grad or not self.operands, WEIGHT)]


def layer_norm(a: Draft, frozen: bool = False) -> LayerNorm:
    """Draws a layer normalisation of inputs of a drawn shape, with or without weight and bias."""
    shape, affine = a.pick(SHAPES), a.below(3) < 2
    over = shape[-1 - a.below(len(shape) - 1) :]
    settings: Attrs = (("normalized_shape", over), ("affine", affine))
    drawn = Parameters(a, frozen)
    drawn.for_module("nn_layer_norm", settings)
    return LayerNorm(drawn.refs, drawn.names, by_module(a, "nn_layer_norm"), shape, settings)
