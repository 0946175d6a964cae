"""Distances and angles between vectors, in pairs or all with all."""

from __future__ import annotations

from itertools import combinations

from autograd_conformance.ops.rows.domains import ANY, MARGIN, ROWS_APART, SQUARABLE, ZEROS_APART
from autograd_conformance.ops.rows.row import Certainty, Op, table
from autograd_conformance.ops.rows.selection import slices, stacked
from autograd_conformance.ops.rows.shapes import dims, every, having, nonempty, offer, ranked, same, shaped
from autograd_conformance.ops.tables.losses import gap_off
from autograd_conformance.programs.own_numpy import np


def _cosine(j, x, y, dim):
    def length(v):
        return j.np.sqrt(j.np.sum(v * v, axis=dim))

    return j.np.sum(x * y, axis=dim) / (length(x) * length(y))


def norm(j, gaps, p, axis=None):
    """Returns the p-norms of vectors along a dimension, or of all elements."""
    return j.np.exp(j.np.log(j.np.sum(j.lax.integer_pow(j.np.abs(gaps), p), axis=axis)) / p)


def _distances(j, a, b):
    gaps = j.np.expand_dims(a, -2) - j.np.expand_dims(b, -3)
    return j.np.sqrt(j.np.sum(gaps * gaps, axis=-1))


def _rows_apart(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether each row of a matrix is at least `MARGIN` away from each row of another."""
    gaps = np.expand_dims(a, -2) - np.expand_dims(b, -3)
    return bool(np.sqrt((gaps * gaps).sum(-1)).min(initial=np.inf) >= MARGIN)


def _pairs(j, x):
    gaps = [a - b for a, b in combinations(slices(j, x, 0), 2)]
    return stacked(j, [j.np.sqrt(j.np.sum(gap * gap)) for gap in gaps], 0)


def _op(name: str, torch: str, reference, accepts, domain=ANY, **more) -> Op:
    return Op(name, torch, reference, Certainty.ALWAYS, domains=(domain,), **more, **shaped(accepts, (2, 2, 2)))


DISTANCES = table(
    "distances",
    _op(
        "cdist",
        "torch.cdist({0}, {1})",
        _distances,
        every(nonempty, ranked(2, 3)),
        SQUARABLE,
        rest=lambda first: [((*first[:-2], n, first[-1]),) for n in (2, 1, 3)],
        apart=_rows_apart,
    ),
    _op("pdist", "F.pdist({0})", _pairs, every(nonempty, ranked(2, 2), lambda s: s[0] > 1), ROWS_APART),
    _op(
        "pairwise_distance",
        "F.pairwise_distance({0}, {1}, p={p})",
        lambda j, x, y, p: norm(j, x - y + 1e-6, p, axis=-1),
        every(nonempty, ranked(1)),
        rest=same,
        choices=offer(p=(2, 3)),
        apart=gap_off(0.0),
    ),
    _op(
        "cosine_similarity",
        "F.cosine_similarity({0}, {1}, dim={dim})",
        _cosine,
        every(nonempty, having(2)),
        ZEROS_APART,
        rest=same,
        choices=lambda *shapes: dims(shapes[0], low=2),  # over one element it is always one
    ),
    _op(
        "dist",
        "torch.dist({0}, {1}, {p})",
        lambda j, x, y, p: norm(j, x - y, p),
        nonempty,
        rest=same,
        choices=offer(p=(2, 3)),
        apart=gap_off(0.0),
    ),
)
