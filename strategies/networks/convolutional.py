"""Convolutional networks: a convolution, batch normalisation with batch or running statistics, an activation, the mean
over all positions, and a linear layer.
"""

from __future__ import annotations

from dataclasses import dataclass

from autograd_conformance.ops.rows.domains import between
from autograd_conformance.programs.language import Attrs, Ref, Shape
from autograd_conformance.strategies.building.drafts.draft import Draft
from autograd_conformance.strategies.networks.network import (
    WEIGHT,
    Network,
    Parameters,
    affine,
    apply_module,
    by_module,
    normalised,
    op,
    scaled,
)

ACTIVATIONS = ("tanh", "gelu")
NORMS = (None, "nn_batch_norm", "nn_batch_norm_eval")
VARIANCE = between(0.5, 2.0, "between a half and two")

INPUTS: dict[int, tuple[Shape, ...]] = {1: ((2, 2, 3), (3, 1, 4)), 2: ((2, 1, 3, 3), (2, 2, 2, 3))}
"""Shapes of inputs for convolutions over one and two dimensions: samples, channels, positions."""


@dataclass(frozen=True)
class Convolutional(Network):
    """A convolution, an optional normalisation, an activation, the mean over all positions, and a linear layer."""

    rank: int
    """Number of dimensions of the convolution: 1 or 2."""

    shape: Shape
    """The shape of inputs: samples, channels, positions."""

    convolution: Attrs
    """The settings of the convolution: stride, padding, and whether it has a bias."""

    norm: str | None
    """The module of the normalisation, such as "nn_batch_norm"; None if there is none."""

    affine: bool
    """Whether the normalisation has a weight and a bias."""

    activation: str
    """The activation op after the normalisation."""

    kernel: tuple[Ref, ...]
    """The parameters of the convolution."""

    scales: tuple[Ref, ...]
    """The running mean and variance, if the normalisation uses them, then the normalisation's weight and bias."""

    head: tuple[Ref, ...]
    """The parameters of the linear layer."""

    @property
    def modules(self) -> tuple[str, ...]:
        return (f"nn_conv{self.rank}d", *([self.norm] if self.norm else ()), "nn_linear")

    def module(self, a: Draft, *inputs: Ref) -> list[Ref]:
        (x,) = apply_module(a, f"nn_conv{self.rank}d", self.convolution, (*inputs, *self.kernel))
        if self.norm:
            settings = (("dimensions", self.rank), ("affine", self.affine))
            (x,) = apply_module(a, self.norm, settings, (x, *self.scales))
        return apply_module(a, "nn_linear", (("bias", len(self.head) > 1),), (self._pooled(a, x), *self.head))

    def composed(self, a: Draft, *inputs: Ref) -> list[Ref]:
        settings = {key: value for key, value in self.convolution if key != "bias"}
        name = f"conv{self.rank}d" + ("_bias" if len(self.kernel) > 1 else "")
        x = op(a, name, *inputs, *self.kernel, **settings, dilation=1, groups=1)
        x = self._normalised(a, x) if self.norm else x
        return [affine(a, self._pooled(a, x), *self.head)]

    def _normalised(self, a: Draft, x: Ref) -> Ref:
        by_channel = (1, -1, *(1,) * self.rank)
        scales = [op(a, "reshape", s, shape=by_channel) for s in self.scales]
        if self.norm == "nn_batch_norm_eval":
            mean, variance, *scales = scales
            deviation = op(a, "sqrt", op(a, "add_scalar", variance, scalar=1e-5))
            x = op(a, "divide", op(a, "subtract", x, mean), deviation)
        else:
            x = normalised(a, x, (0, *range(2, 2 + self.rank)))
        return scaled(a, x, *scales) if scales else x

    def _pooled(self, a: Draft, x: Ref) -> Ref:
        return op(a, "mean", op(a, self.activation, x), dim=tuple(range(2, 2 + self.rank)), keepdim=False)

    def inputs(self, a: Draft, requires_grad: bool = False) -> list[Ref]:
        return [a.leaf(self.shape, requires_grad, WEIGHT)]


def convolutional(
    a: Draft,
    rank: int | None = None,
    norm: str | None = None,
    outputs: int = 2,
    shape: Shape | None = None,
    frozen: bool = False,
) -> Convolutional:
    """Draws a convolutional network for inputs of `shape`. Arguments that are None are drawn."""
    rank = 1 + a.below(2) if rank is None else rank
    shape = a.pick(INPUTS[rank]) if shape is None else shape
    norm = norm or a.pick(NORMS)
    drawn, channels = Parameters(a, frozen), a.pick((2, 1))
    bias = (
        a.below(4) == 3 if norm == "nn_batch_norm" else bool(a.below(2))
    )  # a bias before it is cancelled by the batch's mean
    stride, padding = a.pick(
        ((2, 1), (1, 0), (2, 1), (1, 1))
    )  # strides use separate code, which other situations rarely reach
    convolution: Attrs = (("stride", stride), ("padding", padding), ("bias", bias))
    taps = drawn.for_module(f"nn_conv{rank}d", convolution, "conv.", inputs=shape[1], outputs=channels, kernel=2)
    affine = bool(a.below(3))
    scales: tuple[Ref, ...] = ()
    if norm == "nn_batch_norm_eval":
        scales = a.leaf((channels,), False, WEIGHT), a.leaf((channels,), False, VARIANCE)
    if norm and affine:
        scales = (*scales, *(drawn.leaf(f"norm.{name}", (channels,)) for name in ("weight", "bias")))
    head = drawn.for_module("nn_linear", (("bias", bias),), "head.", inputs=channels, outputs=outputs)
    modules = (f"nn_conv{rank}d", *([norm] if norm else ()), "nn_linear")
    return Convolutional(
        drawn.refs, drawn.names, by_module(a, *modules), rank, shape, convolution, norm, affine,
        a.pick(a.available(*ACTIVATIONS)), taps, scales, head,
    )  # fmt: skip
