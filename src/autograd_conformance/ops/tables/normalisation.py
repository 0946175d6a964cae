"""Normalisation: each element's gradient depends on all elements with which it was normalised.

The `eps` is large, so that the op is smooth at a row of equal values.
"""

from __future__ import annotations

from autograd_conformance.ops.rows.domains import SQUARABLE, ZEROS_APART
from autograd_conformance.ops.rows.row import Certainty, Choices, Op, table
from autograd_conformance.ops.rows.shapes import count, dims, every, nonempty, offer, ranked, shaped, size
from autograd_conformance.programs.language import Shape
from autograd_conformance.programs.own_numpy import np

ALWAYS, MAYBE = Certainty.ALWAYS, Certainty.MAYBE

EPS = offer(eps=(0.125, 1.0))


def _normalised(j, x, axes, eps):
    centred = x - j.np.mean(x, axis=axes, keepdims=True)
    return centred / j.np.sqrt(j.np.mean(centred * centred, axis=axes, keepdims=True) + eps)


def _over(shape: Shape, x) -> tuple[int, ...]:
    """The dimensions of `x` that the trailing `shape` covers."""
    return tuple(range(x.ndim - len(shape), x.ndim))


def _layer(j, x, *affine, normalized_shape, eps):
    scale, shift = affine or (1.0, 0.0)
    return _normalised(j, x, _over(normalized_shape, x), eps) * scale + shift


def _rms(j, x, *affine, normalized_shape, eps):
    (scale,) = affine or (1.0,)
    return x / j.np.sqrt(j.np.mean(x * x, axis=_over(normalized_shape, x), keepdims=True) + eps) * scale


def _trailing(*shapes: Shape) -> Choices:
    """Returns choices of ``normalized_shape`` (the trailing dimensions to normalise over: those of the second operand
    if there is one) and ``eps``.
    """
    first, *affine = shapes
    options = affine[:1] or [first[-1:], *([first] if len(first) > 1 else [])]
    return [{"normalized_shape": option, "eps": eps} for option in options for eps in (0.125, 1.0)]


def _centred(*shapes: Shape) -> Choices:
    """Returns choices of ``normalized_shape`` and ``eps`` for ops that subtract the mean, which need several elements:
    a single centred element is always zero.
    """
    return [attrs for attrs in _trailing(*shapes) if size(attrs["normalized_shape"]) > 1]


def _one_trailing(first: Shape) -> list[tuple[Shape, ...]]:
    return [(first[-1:],), *([(first,)] if len(first) > 1 else [])]


def _two_trailing(first: Shape) -> list[tuple[Shape, ...]]:
    return [(s, s) for (s,) in _one_trailing(first) if size(s) > 1]


def _by_channel(j, values, x):
    return j.np.reshape(values, (1, -1, *(1,) * (x.ndim - 2)))


def _batch(j, x, *affine, eps):
    out = _normalised(j, x, (0, *range(2, x.ndim)), eps)
    if not affine:
        return out
    return out * _by_channel(j, affine[0], x) + _by_channel(j, affine[1], x)


def _batch_running(j, x, *affine, mean, var, eps):
    scale = _by_channel(j, 1 / np.sqrt(np.array(var) + eps), x)
    out = (x - _by_channel(j, np.array(mean), x)) * scale
    if not affine:
        return out
    return out * _by_channel(j, affine[0], x) + _by_channel(j, affine[1], x)


def _statistics(*shapes: Shape) -> Choices:
    """Returns choices of running statistics (``mean`` and ``var``, a number for each channel) and ``eps``."""
    channels = range(shapes[0][1])
    means, variances = (tuple(0.5 * c - 0.25 for c in channels), tuple(1.0 + 0.5 * c for c in channels))
    return [{"mean": means, "var": variances, "eps": eps} for eps in (0.125, 1.0)]


def _two_channelled(first: Shape) -> list[tuple[Shape, ...]]:
    return [((first[1],), (first[1],))]


def _group(j, x, *affine, num_groups, eps):
    grouped = j.np.reshape(x, (x.shape[0], num_groups, -1))
    out = j.np.reshape(_normalised(j, grouped, (2,), eps), x.shape)
    if not affine:
        return out
    return out * _by_channel(j, affine[0], x) + _by_channel(j, affine[1], x)


def _groups(*shapes: Shape) -> Choices:
    first = shapes[0]
    counts = [g for g in dict.fromkeys((1, first[1])) if first[1] % g == 0 and size(first[1:]) // g > 1]
    return [{"num_groups": g, "eps": eps} for g in counts for eps in (0.125, 1.0)]


def _normalize(j, x, dim):
    return x / j.np.sqrt(j.np.sum(x * x, axis=dim, keepdims=True))


def _local(j, x, size, alpha, k):
    """Divides by a power of the mean square over `size` neighbouring channels; those beyond the ends count as zero."""
    channels = np.arange(x.shape[1])
    apart = channels[None] - channels[:, None]
    near = ((apart >= -(size // 2)) & (apart <= (size - 1) // 2)).astype(float)
    sums = j.np.moveaxis(j.np.moveaxis(x * x, 1, -1) @ near.T, -1, 1)
    return x / j.np.exp(0.75 * j.np.log(k + alpha * sums / size))


def _batched(shape: Shape) -> bool:
    """Whether a shape has samples and channels, with more than one value per channel."""
    return 2 <= len(shape) <= 4 and nonempty(shape) and count(shape, (0, *range(2, len(shape)))) > 1


def _several(shape: Shape) -> bool:
    """Whether a shape has one to four dimensions and more than one element."""
    return 1 <= len(shape) <= 4 and size(shape) > 1


def _grouped(shape: Shape) -> bool:
    return 2 <= len(shape) <= 4 and nonempty(shape) and size(shape[1:]) > 1


def _long(shape: Shape) -> bool:
    return len(shape) in (3, 4) and nonempty(shape) and size(shape[2:]) > 1


RUNNING = ", ".join(
    f"running_{s}=torch.tensor({{{s}}}, dtype={{0}}.dtype, device={{0}}.device)" for s in ("mean", "var")
)
ROWS = every(nonempty, ranked(1, 4))


def _op(
    name: str, torch: str, reference, accepts, choices=EPS, rest=None, saves=ALWAYS, domain=SQUARABLE, **fields
) -> Op:
    more = fields if rest is None else {"rest": rest, **fields}
    return Op(name, torch, reference, saves, choices=choices, domains=(domain,), **more, **shaped(accepts))


# One backward op serves all operands, so that the tensors for one derivative are saved for the others, too.
NORMALISATION = table(
    "normalisation",
    _op("layer_norm", "F.layer_norm({0}, {normalized_shape}, eps={eps})", _layer, _several, _centred),
    _op(
        "layer_norm_affine",
        "F.layer_norm({0}, {normalized_shape}, weight={1}, bias={2}, eps={eps})",
        _layer,
        _several,
        _centred,
        _two_trailing,
        unsaved=(2,),
        also_saves=(0, 1, 2),
    ),
    _op("rms_norm", "F.rms_norm({0}, {normalized_shape}, eps={eps})", _rms, ROWS, _trailing),
    _op(
        "rms_norm_affine",
        "F.rms_norm({0}, {normalized_shape}, weight={1}, eps={eps})",
        _rms,
        ROWS,
        _trailing,
        _one_trailing,
    ),
    _op(
        "batch_norm",
        "F.batch_norm({0}, running_mean=None, running_var=None, training=True, eps={eps})",
        _batch,
        _batched,
    ),
    _op(
        "batch_norm_affine",
        "F.batch_norm({0}, running_mean=None, running_var=None, weight={1}, bias={2}, training=True, eps={eps})",
        _batch,
        _batched,
        EPS,
        _two_channelled,
        unsaved=(2,),
        also_saves=(0, 1),
    ),
    _op(
        "batch_norm_running",
        f"F.batch_norm({{0}}, {RUNNING}, training=False, eps={{eps}})",
        _batch_running,
        _batched,
        _statistics,
        saves=MAYBE,
        also_saves=(0,),
    ),
    _op(
        "batch_norm_running_affine",
        f"F.batch_norm({{0}}, {RUNNING}, weight={{1}}, bias={{2}}, training=False, eps={{eps}})",
        _batch_running,
        _batched,
        _statistics,
        _two_channelled,
        unsaved=(2,),
        also_saves=(0, 1),
    ),
    _op("group_norm", "F.group_norm({0}, {num_groups}, eps={eps})", _group, _grouped, _groups),
    _op(
        "group_norm_affine",
        "F.group_norm({0}, {num_groups}, weight={1}, bias={2}, eps={eps})",
        _group,
        _grouped,
        _groups,
        _two_channelled,
        unsaved=(2,),
        also_saves=(0, 1),
    ),
    _op(
        "instance_norm",
        "F.instance_norm({0}, eps={eps})",
        lambda j, x, eps: _normalised(j, x, tuple(range(2, x.ndim)), eps),
        _long,
    ),
    _op("normalize", "F.normalize({0}, dim={dim})", _normalize, ROWS, dims, domain=ZEROS_APART),
    _op(
        "local_response_norm",
        "F.local_response_norm({0}, {size}, alpha={alpha}, k={k})",
        _local,
        every(nonempty, ranked(3, 4)),
        offer(size=(2, 3), alpha=(0.5,), k=(1.0,)),
    ),
)
