"""Attention, alone or in an encoder layer with what stands around it, with masks or without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from autograd_conformance.programs.language import Attrs, Literal, Ref
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.strategies.building.action_builder import ActionBuilder
from autograd_conformance.strategies.networks.network import (
    WEIGHT,
    Network,
    Parameters,
    affine,
    by_module,
    called,
    normalised,
    op,
    scaled,
)

Mask = str | tuple[tuple[bool, ...], ...] | None
Sizes = tuple[int, int, int]

SIZES: tuple[Sizes, ...] = ((2, 2, 2), (1, 3, 2), (2, 3, 2), (2, 1, 2))
"""Samples, queries, and keys where they are not the queries themselves."""

WIDTHS = ((1, 3), (2, 4))
"""Heads, and features: two normalised features would be 1 and -1 whatever they were, and pass hardly a gradient."""


@dataclass(frozen=True)
class Attention:
    """Scaled dot-product attention: its settings, and how it is computed op by op."""

    heads: int
    """How many heads there are."""

    batch_first: bool
    """Whether the samples are the first dimension of inputs, or the second."""

    mask: Mask
    """Which keys (columns) are hidden from which queries (rows); "causal" hides later ones; None hides none."""

    padding: tuple[tuple[bool, ...], ...] | None
    """For each sample (row), which keys (columns) are hidden from all its queries."""

    def hidden(self, queries: int, keys: int) -> np.ndarray | None:
        """Which keys are hidden, for (samples, heads, queries, keys); None where none are."""
        found = None
        if self.mask is not None:
            found = np.triu(np.ones((queries, keys), bool), 1) if self.mask == "causal" else np.array(self.mask)
            found = found[None, None]
        if self.padding is not None:
            ends = np.array(self.padding)[:, None, None, :]
            found = ends if found is None else found | ends
        return found

    def of(self, a: ActionBuilder, x: Ref, keys: Ref, weights: Sequence[Ref], bias: bool) -> tuple[Ref, Ref]:
        """Attention of values (sample, time, width), op by op: the output, and the weights' mean over the heads."""
        width = a.shape(x)[2]
        w_in, b_in, w_out, b_out = weights if bias else (weights[0], None, weights[1], None)
        projections, biases = _thirds(a, w_in, width), _thirds(a, b_in, width) if b_in else [None] * 3
        q, k, v = (
            self._heads(a, affine(a, given, w, b))
            for given, w, b in zip((x, keys, keys), projections, biases, strict=True)
        )
        scores = op(a, "matmul", q, op(a, "matrix_transpose", k))
        likely = op(a, "exp", op(a, "divide_scalar", scores, scalar=float(np.sqrt(width // self.heads))))
        hidden = self.hidden(a.shape(x)[1], a.shape(keys)[1])
        if hidden is not None:
            seen = Literal(tuple((~hidden).astype(float).ravel().tolist()), hidden.shape, a.dtype)
            likely = op(a, "multiply", likely, a.leaf(value=seen, requires_grad=False))
        likely = op(a, "divide", likely, op(a, "sum", likely, dim=(3,), keepdim=True))
        seen_values = op(a, "permute_dims", op(a, "matmul", likely, v), dims=(0, 2, 1, 3))
        out = affine(a, op(a, "reshape", seen_values, shape=a.shape(x)), w_out, b_out)
        return out, op(a, "mean", likely, dim=(1,), keepdim=False)

    def _heads(self, a: ActionBuilder, x: Ref) -> Ref:
        samples, time, width = a.shape(x)
        parted = op(a, "reshape", x, shape=(samples, time, self.heads, width // self.heads))
        return op(a, "permute_dims", parted, dims=(0, 2, 1, 3))

    def samples_first(self, a: ActionBuilder, x: Ref) -> Ref:
        """Samples first, or back."""
        return x if self.batch_first else op(a, "permute_dims", x, dims=(1, 0, 2))


@dataclass(frozen=True)
class Transformer(Network):
    """Attention by itself, or an encoder layer around it."""

    kind: str
    """Either "attention" (to the queries themselves, or to a memory that is an input) or "encoder"."""

    attention: Attention
    """The attention in it."""

    settings: Attrs
    """The settings of the framework's module."""

    sizes: Sizes
    """Samples, queries, and keys."""

    width: int
    """How many features each query and each key has."""

    @property
    def modules(self) -> tuple[str, ...]:
        return ("nn_attention" if self.kind == "attention" else "nn_transformer",)

    @property
    def _asked(self) -> dict[str, Any]:
        return dict(self.settings)

    def module(self, a: ActionBuilder, *inputs: Ref) -> list[Ref]:
        return called(a, self.modules[0], self.settings, (*inputs, *self.operands))

    def composed(self, a: ActionBuilder, *inputs: Ref) -> list[Ref]:
        attention, asked = self.attention, self._asked
        x, *others = (attention.samples_first(a, given) for given in inputs)
        if self.kind == "encoder":
            return [attention.samples_first(a, self._encoded(a, x))]
        keys = others[0] if others else x
        out, likely = attention.of(a, x, keys, self.operands, asked["bias"])
        out = attention.samples_first(a, out)
        return [out, likely] if asked["need_weights"] else [out]

    def _encoded(self, a: ActionBuilder, x: Ref) -> Ref:
        weights, (w1, b1, w2, b2), norms = self.operands[:4], self.operands[4:8], self.operands[8:]

        def attended(y: Ref) -> Ref:
            return self.attention.of(a, y, y, weights, True)[0]

        def fed(y: Ref) -> Ref:
            return affine(a, op(a, "gelu", affine(a, y, w1, b1)), w2, b2)

        def normal(y: Ref, which: int) -> Ref:
            return scaled(a, normalised(a, y, (2,)), *norms[2 * which : 2 * which + 2])

        if self._asked["norm_first"]:
            x = op(a, "add", x, attended(normal(x, 0)))
            return op(a, "add", x, fed(normal(x, 1)))
        x = normal(op(a, "add", x, attended(x)), 0)
        return normal(op(a, "add", x, fed(x)), 1)

    def inputs(self, a: ActionBuilder, requires_grad: bool = False) -> list[Ref]:
        samples, queries, keys = self.sizes
        lengths = (queries, keys) if self._asked.get("memory") else (queries,)
        shapes = [(samples, n, self.width) if self.attention.batch_first else (n, samples, self.width) for n in lengths]
        return [a.leaf(shape, requires_grad, WEIGHT) for shape in shapes]


def transformer(
    a: ActionBuilder, kind: str | None = None, masked: bool | None = None, frozen: bool = False
) -> Transformer:
    """Attention or an encoder layer, of one head or two; what is not given is drawn."""
    kind = kind or a.pick(("attention", "encoder"))
    sizes, (heads, width) = a.pick(SIZES), a.pick(WIDTHS)
    memory = kind == "attention" and bool(a.below(2))
    samples, queries, keys = sizes if memory else (*sizes[:2], sizes[1])
    masked = bool(a.below(3)) if masked is None else masked
    mask, padding = _masks(a, samples, queries, keys) if masked else (None, None)
    attention = Attention(heads, bool(a.below(2)), mask, padding)
    drawn = Parameters(a, frozen)
    if kind == "attention":
        settings: Attrs = (
            ("heads", heads), ("bias", a.below(3) < 2), ("batch_first", attention.batch_first), ("memory", memory),
            ("mask", mask), ("padding", padding), ("need_weights", bool(a.below(2))),
        )  # fmt: skip
        drawn.of("nn_attention", settings, width=width)
    else:
        settings = (
            ("heads", heads), ("batch_first", attention.batch_first), ("norm_first", bool(a.below(2))), ("mask", mask),
            ("padding", padding),
        )  # fmt: skip
        drawn.of("nn_transformer", settings, width=width, feedforward=a.pick((2, 1)))
    name = "nn_attention" if kind == "attention" else "nn_transformer"
    return Transformer(
        drawn.refs, drawn.names, by_module(a, name), kind, attention, settings, (samples, queries, keys), width
    )


def _masks(a: ActionBuilder, samples: int, queries: int, keys: int) -> tuple[Mask, tuple[tuple[bool, ...], ...] | None]:
    """Masks that leave every query its first key: a causal one, or rows; and now and then the ends of sequences."""
    rows = tuple(tuple(k > 0 and (q + k) % 2 == 1 for k in range(keys)) for q in range(queries))
    ends = tuple(tuple(k > 0 and k >= keys - s % 2 for k in range(keys)) for s in range(1, samples + 1))
    mask = a.pick(("causal", rows, None))
    return mask, ends if mask is None or a.below(3) == 2 else None


def _thirds(a: ActionBuilder, value: Ref, width: int) -> list[Ref]:
    """The projections of queries, keys and values, which stand below one another."""
    (name,) = a.available("split")
    return a.apply(name, (value,), (("sizes", (width,) * 3), ("dim", 0)))
