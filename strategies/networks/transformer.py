"""Attention and transformer encoder layers, with or without masks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from autograd_conformance.programs.language import Attrs, Literal, Ref
from autograd_conformance.programs.own_numpy import np
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

Mask = str | tuple[tuple[bool, ...], ...] | None
Sizes = tuple[int, int, int]

SIZES: tuple[Sizes, ...] = ((2, 2, 2), (1, 3, 2), (2, 3, 2), (2, 1, 2))
"""Triples of numbers: of samples, of queries, and of keys if they are not the queries."""

WIDTHS = ((1, 3), (2, 4))
"""Pairs of a number of heads and a number of features. Two normalised features would always be 1 and -1 and pass hardly
any gradient.
"""


@dataclass(frozen=True)
class Attention:
    """Scaled dot-product attention: its settings, and its computation op by op."""

    heads: int
    """Number of heads."""

    batch_first: bool
    """Whether the batch is the first dimension of inputs; otherwise it is the second."""

    mask: Mask
    """The attention mask: True hides a key (column) from a query (row), "causal" hides later keys, None hides none."""

    padding: tuple[tuple[bool, ...], ...] | None
    """The padding mask: True hides a key (column) of a sample (row) from all queries."""

    def hidden(self, queries: int, keys: int) -> np.ndarray | None:
        """Returns the hidden keys as an array that broadcasts to (samples, heads, queries, keys); None if none are
        hidden.
        """
        found = None
        if self.mask is not None:
            found = np.triu(np.ones((queries, keys), bool), 1) if self.mask == "causal" else np.array(self.mask)
            found = found[None, None]
        if self.padding is not None:
            ends = np.array(self.padding)[:, None, None, :]
            found = ends if found is None else found | ends
        return found

    def of(self, a: Draft, x: Ref, keys: Ref, weights: Sequence[Ref], bias: bool) -> tuple[Ref, Ref]:
        """Computes attention op by op, of queries from `x` to `keys`, both of shape (sample, time, width); returns the
        output, and the mean of the attention weights over the heads.
        """
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
            visible = Literal(tuple((~hidden).astype(float).ravel().tolist()), hidden.shape, a.operands.dtype)
            likely = op(a, "multiply", likely, a.leaf(value=visible, requires_grad=False))
        likely = op(a, "divide", likely, op(a, "sum", likely, dim=(3,), keepdim=True))
        attended = op(a, "permute_dims", op(a, "matmul", likely, v), dims=(0, 2, 1, 3))
        out = affine(a, op(a, "reshape", attended, shape=a.shape(x)), w_out, b_out)
        return out, op(a, "mean", likely, dim=(1,), keepdim=False)

    def _heads(self, a: Draft, x: Ref) -> Ref:
        samples, time, width = a.shape(x)
        parted = op(a, "reshape", x, shape=(samples, time, self.heads, width // self.heads))
        return op(a, "permute_dims", parted, dims=(0, 2, 1, 3))

    def samples_first(self, a: Draft, x: Ref) -> Ref:
        """Moves the batch from the second dimension to the first, or back; returns `x` itself if the batch is first
        anyway.
        """
        return x if self.batch_first else op(a, "permute_dims", x, dims=(1, 0, 2))


@dataclass(frozen=True)
class Transformer(Network):
    """Attention, or an encoder layer that contains it."""

    kind: str
    """Either "attention" (on the queries themselves, or on a memory that is another input) or "encoder"."""

    attention: Attention
    """The attention of the layer."""

    settings: Attrs
    """The options with which the framework's attention or encoder module is constructed and called, such as the number
    of heads and the mask.
    """

    sizes: Sizes
    """Numbers of samples, queries and keys."""

    width: int
    """Number of features of each query and key."""

    @property
    def modules(self) -> tuple[str, ...]:
        return ("nn_attention" if self.kind == "attention" else "nn_transformer",)

    @property
    def _options(self) -> dict[str, Any]:
        return dict(self.settings)

    def module(self, a: Draft, *inputs: Ref) -> list[Ref]:
        return apply_module(a, self.modules[0], self.settings, (*inputs, *self.operands))

    def composed(self, a: Draft, *inputs: Ref) -> list[Ref]:
        attention, options = self.attention, self._options
        x, *others = (attention.samples_first(a, given) for given in inputs)
        if self.kind == "encoder":
            return [attention.samples_first(a, self._encoded(a, x))]
        keys = others[0] if others else x
        out, likely = attention.of(a, x, keys, self.operands, options["bias"])
        out = attention.samples_first(a, out)
        return [out, likely] if options["need_weights"] else [out]

    def _encoded(self, a: Draft, x: Ref) -> Ref:
        weights, (w1, b1, w2, b2), norms = self.operands[:4], self.operands[4:8], self.operands[8:]

        def attended(y: Ref) -> Ref:
            return self.attention.of(a, y, y, weights, True)[0]

        def fed(y: Ref) -> Ref:
            return affine(a, op(a, "gelu", affine(a, y, w1, b1)), w2, b2)

        def normal(y: Ref, which: int) -> Ref:
            return scaled(a, normalised(a, y, (2,)), *norms[2 * which : 2 * which + 2])

        if self._options["norm_first"]:
            x = op(a, "add", x, attended(normal(x, 0)))
            return op(a, "add", x, fed(normal(x, 1)))
        x = normal(op(a, "add", x, attended(x)), 0)
        return normal(op(a, "add", x, fed(x)), 1)

    def inputs(self, a: Draft, requires_grad: bool = False) -> list[Ref]:
        samples, queries, keys = self.sizes
        lengths = (queries, keys) if self._options.get("memory") else (queries,)
        shapes = [(samples, n, self.width) if self.attention.batch_first else (n, samples, self.width) for n in lengths]
        return [a.leaf(shape, requires_grad, WEIGHT) for shape in shapes]


def transformer(a: Draft, kind: str | None = None, masked: bool | None = None, frozen: bool = False) -> Transformer:
    """Draws attention or an encoder layer with one or two heads. Arguments that are None are drawn."""
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
        drawn.for_module("nn_attention", settings, width=width)
    else:
        settings = (
            ("heads", heads), ("batch_first", attention.batch_first), ("norm_first", bool(a.below(2))), ("mask", mask),
            ("padding", padding),
        )  # fmt: skip
        drawn.for_module("nn_transformer", settings, width=width, feedforward=a.pick((2, 1)))
    name = "nn_attention" if kind == "attention" else "nn_transformer"
    return Transformer(
        drawn.refs, drawn.names, by_module(a, name), kind, attention, settings, (samples, queries, keys), width
    )


def _masks(a: Draft, samples: int, queries: int, keys: int) -> tuple[Mask, tuple[tuple[bool, ...], ...] | None]:
    """Draws an attention mask and a padding mask, of which one may be None, that leave every query at least its first
    key.
    """
    rows = tuple(tuple(k > 0 and (q + k) % 2 == 1 for k in range(keys)) for q in range(queries))
    ends = tuple(tuple(k > 0 and k >= keys - s % 2 for k in range(keys)) for s in range(1, samples + 1))
    mask = a.pick(("causal", rows, None))
    return mask, ends if mask is None or a.below(3) == 2 else None


def _thirds(a: Draft, value: Ref, width: int) -> list[Ref]:
    """Splits a value along the first dimension into the parts for queries, keys and values."""
    (name,) = a.available("split")
    return a.apply(name, (value,), (("sizes", (width,) * 3), ("dim", 0)))
