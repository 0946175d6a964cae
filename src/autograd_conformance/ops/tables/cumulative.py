"""Cumulative ops, of which each result depends on its own element and all earlier ones, and so each gradient on all
later cotangents; `diff` and `gradient`, which subtract neighbours; an integral by the trapezoidal rule; and powers of
each element.
"""

from __future__ import annotations

from itertools import pairwise

from autograd_conformance.ops.rows.domains import ANY, DISTINCT, MODERATE, SMALL
from autograd_conformance.ops.rows.row import RESULTS, Certainty, Choices, Op, table
from autograd_conformance.ops.rows.selection import scanned, slices, stacked
from autograd_conformance.ops.rows.shapes import dims, every, having, nonempty, offer, ranked, shaped, size

ALWAYS, MAYBE, NEVER = Certainty.ALWAYS, Certainty.MAYBE, Certainty.NEVER

LINE = shaped(ranked(1))
FILLED = shaped(every(ranked(1), nonempty))


def _sum(j, x, dim):
    return j.np.cumsum(x, axis=dim)


def _prod(j, x, dim):
    return scanned(j, lambda a, b: a * b, x, dim)


def _logsumexp(j, x, dim):
    return scanned(j, lambda a, b: b + j.np.log1p(j.np.exp(a - b)), x, dim)


def _max(j, x, dim):
    return scanned(j, lambda a, b: j.np.where(a > b, a, b), x, dim)


def _min(j, x, dim):
    return scanned(j, lambda a, b: j.np.where(a < b, a, b), x, dim)


def _differences(shape) -> Choices:
    return [{"n": 1, **c} for c in dims(shape, low=1)] + [{"n": 2, **c} for c in dims(shape, low=2)][:2]


def _spaced(shape) -> Choices:
    return [{"dx": 0.5, **each} for each in dims(shape, low=2)]


def _means(j, x, dim):
    """The means of neighbours along a dimension."""
    size, axis = x.shape[dim], dim % x.ndim
    return (j.lax.slice_in_dim(x, 1, size, axis=axis) + j.lax.slice_in_dim(x, 0, size - 1, axis=axis)) / 2


def _trapezoid(j, x, dx, dim):
    return j.np.sum(_means(j, x, dim), axis=dim) * dx


def _slopes(j, x, spacing, dim):
    """Half of what the neighbours on both sides of an element differ by; at the ends, what the last two do."""
    made = slices(j, _diff(j, x, 1, dim), dim)
    means = ((a + b) / 2 for a, b in pairwise(made))
    return j.np.concatenate([made[0], *means, made[-1]], axis=dim) / spacing


def _diff(j, x, n, dim):
    for _ in range(n):
        size = x.shape[dim]
        later = j.lax.slice_in_dim(x, 1, size, axis=dim % x.ndim)
        x = later - j.lax.slice_in_dim(x, 0, size - 1, axis=dim % x.ndim)
    return x


# Over one element each of these is the identity, but PyTorch saves the same tensors as over many.
CUMULATIVE = table(
    "cumulative",
    Op("cumulative_sum", "torch.cumsum({0}, {dim})", _sum, NEVER, choices=dims, **LINE),
    Op(
        "cumulative_prod",
        "torch.cumprod({0}, {dim})",
        _prod,
        ALWAYS,
        choices=dims,
        domains=(SMALL,),
        also_saves=(0, RESULTS),
        **FILLED,
    ),
    Op(
        "logcumsumexp",
        "torch.logcumsumexp({0}, {dim})",
        _logsumexp,
        ALWAYS,
        choices=dims,
        domains=(MODERATE,),
        also_saves=(0, RESULTS),
        **FILLED,
    ),
    Op(
        "cummax",
        "torch.cummax({0}, {dim}).values",
        _max,
        ALWAYS,
        choices=dims,
        domains=(DISTINCT,),
        also_saves=(0,),
        **FILLED,
    ),
    Op(
        "cummin",
        "torch.cummin({0}, {dim}).values",
        _min,
        ALWAYS,
        choices=dims,
        domains=(DISTINCT,),
        also_saves=(0,),
        **FILLED,
    ),
    Op(
        "trapezoid",
        "torch.trapezoid({0}, dx={dx}, dim={dim})",
        _trapezoid,
        MAYBE,
        choices=_spaced,
        domains=(ANY,),
        **shaped(every(nonempty, having(2))),
    ),
    Op(
        "cumulative_trapezoid",
        "torch.cumulative_trapezoid({0}, dx={dx}, dim={dim})",
        lambda j, x, dx, dim: j.np.cumsum(_means(j, x, dim), axis=dim) * dx,
        MAYBE,
        choices=_spaced,
        domains=(ANY,),
        **shaped(every(nonempty, having(2))),
    ),
    Op(
        "diff",
        "torch.diff({0}, n={n}, dim={dim})",
        _diff,
        NEVER,
        choices=_differences,
        domains=(ANY,),
        **shaped(having(1)),
    ),
    Op(
        "gradient",
        "torch.gradient({0}, spacing={spacing}, dim={dim})[0]",
        _slopes,
        MAYBE,
        choices=lambda shape: [{"spacing": s, **c} for c in dims(shape, low=2) for s in (1.0, 0.5)][:8],
        domains=(ANY,),
        **shaped(every(nonempty, having(2))),
    ),
    Op(
        "vander",
        "torch.linalg.vander({0}, N={n})",
        lambda j, x, n: stacked(j, [j.lax.integer_pow(x, k) if k else x * 0 + 1 for k in range(n)], -1),
        ALWAYS,
        choices=offer(n=(3, 4)),
        domains=(SMALL,),
        **shaped(every(nonempty, ranked(1), lambda shape: size(shape) <= 6)),
    ),
)
