"""Reductions over all dimensions or some: sums, products, extremes, variances and norms. Gradients
are broadcast back.
"""

from __future__ import annotations

from math import ceil, floor

from autograd_conformance.ops.rows.domains import ANY, DISTINCT, DISTINCT_MAGNITUDES, NONZERO, SMALL, SQUARABLE
from autograd_conformance.ops.rows.row import RESULTS, Certainty, Choices, Op, table
from autograd_conformance.ops.rows.selection import folded, logsumexp, ordered
from autograd_conformance.ops.rows.shapes import count, every, lines, nonempty, offer, ranked, reduced, shaped, size
from autograd_conformance.programs.language import Shape

ALWAYS, MAYBE, NEVER = Certainty.ALWAYS, Certainty.MAYBE, Certainty.NEVER

OVER = "dim={dim}, keepdim={keepdim}"


def _several(shape: Shape) -> bool:
    return nonempty(shape) and size(shape) >= 2


def _odd(shape: Shape) -> bool:
    return size(shape) % 2 == 1


def _moments(shape: Shape) -> Choices:
    enough = [c for c in reduced(shape) if count(shape, c["dim"]) >= 2]
    return [{**c, "correction": 1} for c in enough] + [{**enough[0], "correction": 0}]


def _norms(shape: Shape) -> Choices:
    everything, *others = reduced(shape)
    return [{"ord": ord, **everything} for ord in (2, 1, 3)] + [{"ord": 2, **c} for c in others[-5:]]


def _ordinals(shape: Shape) -> Choices:
    return [{"k": k, **c} for c in lines(shape) for k in sorted({1, shape[c["dim"]]})][:8]


def _tops(shape: Shape) -> Choices:
    dims = [c["dim"] for c in lines(shape)[:-1]]
    return [{"k": min(2, shape[d]), "dim": d, "largest": largest} for d in dims for largest in (True, False)][:8]


def _sorts(shape: Shape) -> Choices:
    return [{"dim": c["dim"], "descending": d} for c in lines(shape)[:-1] for d in (False, True)][:8]


def _var(j, x, dim, keepdim, correction):
    centred = x - j.np.mean(x, axis=dim, keepdims=True)
    return j.np.sum(centred * centred, axis=dim, keepdims=keepdim) / (count(x.shape, dim) - correction)


def _std(j, x, dim, keepdim, correction):
    return j.np.sqrt(_var(j, x, dim, keepdim, correction))


def _cov(j, x, correction):
    centred = x - j.np.mean(x, axis=-1, keepdims=True)
    return j.np.matmul(centred, centred.T) / (x.shape[-1] - correction)


def _sum(j, x, dim, keepdim):
    return j.np.sum(x, axis=dim, keepdims=keepdim)


def _mean(j, x, dim, keepdim):
    return j.np.mean(x, axis=dim, keepdims=keepdim)


def _min(j, x, dim, keepdim):
    return -j.np.max(-x, axis=dim, keepdims=keepdim)


def _norm(j, x, ord, dim, keepdim):
    powers = j.np.sum(j.lax.integer_pow(j.np.abs(x), ord), axis=dim, keepdims=keepdim)
    return powers if ord == 1 else j.np.exp(j.np.log(powers) / ord)


def _product(j, x, dim, keepdim):
    return _line(j, folded(j, lambda a, b: a * b, x, dim), dim, keepdim)


def _at_rank(j, x, rank, dim, keepdim):
    up = ordered(j, x, dim)
    return _line(j, j.lax.slice_in_dim(up, rank, rank + 1, axis=dim % x.ndim), dim, keepdim)


def _quantile(j, x, q, dim, keepdim):
    place = q * (x.shape[dim] - 1)
    low, high = (_at_rank(j, x, rank, dim, keepdim) for rank in (floor(place), ceil(place)))
    return low + (high - low) * (place % 1)


def _line(j, x, dim, keepdim):
    """Removes the reduced dimension, which has one element, unless `keepdim` is set."""
    return x if keepdim else j.np.squeeze(x, axis=dim)


def _top(j, x, k, dim, largest):
    up = ordered(j, x, dim)
    return j.lax.slice_in_dim(j.np.flip(up, axis=dim) if largest else up, 0, k, axis=dim % x.ndim)


def _sort(j, x, dim, descending):
    up = ordered(j, x, dim)
    return j.np.flip(up, axis=dim) if descending else up


def _all(name: str, torch: str, reference, *domains, accepts=nonempty, **more) -> Op:
    return Op(name, torch, reference, ALWAYS, domains=domains, **more, **shaped(accepts))


def _some(
    name: str, torch: str, reference, saves: Certainty, *domains, choices=reduced, accepts=nonempty, **more
) -> Op:
    return Op(name, torch, reference, saves, choices=choices, domains=domains or (ANY,), **more, **shaped(accepts))


def _one(name: str, torch: str, reference, *domains, choices=lines, **more) -> Op:
    accepts = every(nonempty, ranked(1))
    return Op(name, torch, reference, ALWAYS, choices=choices, domains=domains, **more, **shaped(accepts))


SUMS = (
    Op(
        "sum",
        f"torch.sum({{0}}, {OVER})",
        _sum,
        NEVER,
        choices=reduced,
    ),
    _some("mean", f"torch.mean({{0}}, {OVER})", _mean, NEVER),
    _some(
        "nansum",
        f"torch.nansum({{0}}, {OVER})",
        _sum,
        MAYBE,
        also_saves=(0,),
    ),
    _some("nanmean", f"torch.nanmean({{0}}, {OVER})", _mean, MAYBE, also_saves=(0,)),
    # The product of one element needs no saved value, but PyTorch saves it.
    _all(
        "prod",
        "torch.prod({0})",
        lambda j, x: _product(j, j.np.reshape(x, -1), 0, False),
        SMALL,
        also_saves=(0, RESULTS),
    ),
    _one("prod_dim", f"torch.prod({{0}}, {OVER})", _product, SMALL, also_saves=(0, RESULTS)),
    _some(
        "logsumexp", f"torch.logsumexp({{0}}, {OVER})", lambda j, x, dim, keepdim: logsumexp(j, x, dim, keepdim), ALWAYS
    ),
)

MOMENTS = (
    _some(
        "var",
        f"torch.var({{0}}, {OVER}, correction={{correction}})",
        _var,
        ALWAYS,
        SQUARABLE,
        choices=_moments,
        accepts=_several,
    ),
    _some(
        "std",
        f"torch.std({{0}}, {OVER}, correction={{correction}})",
        _std,
        ALWAYS,
        DISTINCT,
        choices=_moments,
        accepts=_several,
    ),
    _some(
        "var_mean",
        f"torch.var_mean({{0}}, {OVER}, correction={{correction}})",
        lambda j, x, dim, keepdim, correction: (_var(j, x, dim, keepdim, correction), _mean(j, x, dim, keepdim)),
        ALWAYS,
        SQUARABLE,
        choices=_moments,
        accepts=_several,
    ),
    _some(
        "std_mean",
        f"torch.std_mean({{0}}, {OVER}, correction={{correction}})",
        lambda j, x, dim, keepdim, correction: (_std(j, x, dim, keepdim, correction), _mean(j, x, dim, keepdim)),
        ALWAYS,
        DISTINCT,
        choices=_moments,
        accepts=_several,
    ),
)

COVARIANCE = Op(
    "cov",
    "torch.cov({0}, correction={correction})",
    _cov,
    ALWAYS,
    choices=offer(correction=(1, 0)),
    domains=(SQUARABLE,),
    **shaped(every(nonempty, ranked(1, 2), lambda shape: min(shape) > 1)),  # of one row, it is a number
)

EXTREMES = (
    _all("max", "torch.max({0})", lambda j, x: j.np.max(x), DISTINCT),
    _all("min", "torch.min({0})", lambda j, x: -j.np.max(-x), DISTINCT),
    _some(
        "amax",
        f"torch.amax({{0}}, {OVER})",
        lambda j, x, dim, keepdim: j.np.max(x, axis=dim, keepdims=keepdim),
        ALWAYS,
        DISTINCT,
    ),
    _some("amin", f"torch.amin({{0}}, {OVER})", _min, ALWAYS, DISTINCT),
    _one(
        "max_dim",
        f"torch.max({{0}}, {OVER}).values",
        lambda j, x, dim, keepdim: j.np.max(x, axis=dim, keepdims=keepdim),
        DISTINCT,
    ),
    _one("min_dim", f"torch.min({{0}}, {OVER}).values", _min, DISTINCT),
    _one(
        "aminmax",
        f"torch.aminmax({{0}}, {OVER})",
        lambda j, x, dim, keepdim: (_min(j, x, dim, keepdim), j.np.max(x, axis=dim, keepdims=keepdim)),
        DISTINCT,
    ),
    _all(
        "median",
        "torch.median({0})",
        lambda j, x: _at_rank(j, j.np.reshape(x, -1), x.size // 2, 0, False),
        DISTINCT,
        accepts=_odd,
    ),
    _one(
        "median_dim",
        f"torch.median({{0}}, {OVER}).values",
        lambda j, x, dim, keepdim: _at_rank(j, x, (x.shape[dim] - 1) // 2, dim, keepdim),
        DISTINCT,
    ),
    _one(
        "kthvalue",
        f"torch.kthvalue({{0}}, {{k}}, {OVER}).values",
        lambda j, x, k, dim, keepdim: _at_rank(j, x, k - 1, dim, keepdim),
        DISTINCT,
        choices=_ordinals,
    ),
    _all(
        "nanmedian",
        "torch.nanmedian({0})",
        lambda j, x: _at_rank(j, j.np.reshape(x, -1), x.size // 2, 0, False),
        DISTINCT,
        accepts=_odd,
    ),
    _one(
        "quantile",
        f"torch.quantile({{0}}, {{q}}, {OVER})",
        _quantile,
        DISTINCT,
        choices=lambda shape: [{"q": q, **each} for each in lines(shape) for q in (0.375, 1.0)][:8],
    ),
    _one("topk", "torch.topk({0}, {k}, dim={dim}, largest={largest}).values", _top, DISTINCT, choices=_tops),
    _one("sort", "torch.sort({0}, dim={dim}, descending={descending}).values", _sort, DISTINCT, choices=_sorts),
)

NORMS = (
    _some("vector_norm", f"torch.linalg.vector_norm({{0}}, {{ord}}, {OVER})", _norm, ALWAYS, NONZERO, choices=_norms),
    _some(
        "vector_norm_inf",
        f"torch.linalg.vector_norm({{0}}, float('inf'), {OVER})",
        lambda j, x, dim, keepdim: j.np.max(j.np.abs(x), axis=dim, keepdims=keepdim),
        ALWAYS,
        DISTINCT_MAGNITUDES,
    ),
)

REDUCTIONS = table("reductions", *SUMS, *MOMENTS, COVARIANCE, *EXTREMES, *NORMS)
