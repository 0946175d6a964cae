"""Pooling in one to three dimensions: the mean, the maximum or the norm of a window's taps."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from autograd_conformance.ops.rows.domains import ANY, DISTINCT, ZEROS_APART
from autograd_conformance.ops.rows.row import LARGEST, Certainty, Choices, Op, table
from autograd_conformance.ops.rows.selection import stacked
from autograd_conformance.ops.rows.shapes import every, nonempty, ranked, shaped, size
from autograd_conformance.ops.tables.windows import counts, each, padded, taps
from autograd_conformance.programs.language import Shape
from autograd_conformance.programs.own_numpy import np

ALWAYS, MAYBE = Certainty.ALWAYS, Certainty.MAYBE


def _pools(rank: int):
    """Returns a function that offers pooling windows (``kernel_size``, ``stride``, ``padding``) for an operand that is
    long enough. PyTorch refuses a window of three dimensions that is larger than the operand without its padding.
    """

    def choices(shape: Shape) -> Choices:
        options = ((2, 1, 0), (2, 2, 0), (2, 2, 1), (1, 1, 0), (2, 1, 1), (3, 2, 1), (3, 3, 0), (1, 2, 0))
        shortest = min(shape[-rank:])
        return [
            dict(zip(WINDOW, c, strict=True))
            for c in options
            if shortest + (2 * c[2] if rank < 3 else 0) >= c[0]
            and size((*shape[:-rank], *counts(shape[-rank:], *c))) <= LARGEST
        ]

    return choices


def _mean_pool(rank: int):
    def reference(j, x, kernel_size, stride, padding):
        windows = [s for _, s in taps(j, padded(j, x, padding, padding, rank), (kernel_size,) * rank, stride)]
        return sum(windows) / len(windows)

    return reference


def _max_pool(rank: int):
    def reference(j, x, kernel_size, stride, padding, dilation=1, ceil_mode=False):
        x = _reaching(j, x, kernel_size, stride, padding, dilation, ceil_mode, rank, value=-1e30)
        return j.np.max(stacked(j, [s for _, s in taps(j, x, each(kernel_size, rank), stride, dilation)], 0), axis=0)

    return reference


def _reaching(j, x, kernel_size, stride, padding, dilation, ceil_mode, rank, value=0.0):
    """Returns the padded operand, padded further on the right as far as the windows of `ceil_mode` reach."""
    kernel, strides, low, dilations = (each(s, rank) for s in (kernel_size, stride, padding, dilation))
    windows = counts(x.shape[-rank:], kernel, strides, low, dilations, ceil_mode)
    along = zip(x.shape[-rank:], windows, kernel, strides, low, dilations, strict=True)
    high = tuple(max(p, (w - 1) * s + d * (k - 1) + 1 - n - p) for n, w, k, s, p, d in along)
    return padded(j, x, low, high, rank, value=value)


def _uneven_mean(j, x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override):
    x_shape = x.shape[-2:]
    x = _reaching(j, x, kernel_size, stride, padding, 1, ceil_mode, 2)
    total = sum(s for _, s in taps(j, x, kernel_size, stride))
    if divisor_override is not None:
        return total / divisor_override
    divisors = np.zeros(total.shape[-2:])
    for at in product(*map(range, divisors.shape)):
        lengths = []
        for i, n, k, s, p in zip(at, x_shape, kernel_size, stride, padding, strict=True):
            first, last = i * s - p, min(i * s - p + k, n + p)
            lengths.append(last - first if count_include_pad else min(last, n) - max(first, 0))
        divisors[at] = lengths[0] * lengths[1]
    return total / divisors


def _uneven_pools(shape: Shape, names: tuple[str, ...], options: Sequence[tuple[Any, ...]]) -> Choices:
    """Returns those of the options whose windows each hold an element of the operand: without one, a maximum is that of
    the padding, and a mean divides by 0.
    """
    named: list[dict[str, Any]] = [dict(zip(names, o, strict=True)) for o in options]
    return [o for o in named if _filled(shape, **{k: v for k, v in o.items() if k in FILLING})]


def _filled(shape: Shape, kernel_size, stride, padding, ceil_mode, dilation=(1, 1)) -> bool:
    windows = counts(shape[-2:], kernel_size, stride, padding, dilation, ceil_mode)
    along = zip(shape[-2:], windows, kernel_size, stride, padding, dilation, strict=True)
    return size((*shape[:-2], *windows)) <= LARGEST and all(
        w > 0 and all(any(0 <= i * s - p + at * d < n for at in range(k)) for i in range(w))
        for n, w, k, s, p, d in along
    )


def _uneven_means(shape: Shape) -> Choices:
    names = (*WINDOW, "ceil_mode", "count_include_pad", "divisor_override")
    options = (
        ((1, 2), (1, 1), (0, 0), False, True, None),
        ((2, 1), (2, 1), (0, 0), False, True, None),
        ((1, 2), (1, 2), (0, 1), False, True, None),
        ((1, 2), (1, 2), (0, 1), False, False, None),
        ((2, 1), (2, 1), (1, 0), True, True, None),
        ((2, 2), (2, 2), (1, 0), True, False, None),
        ((2, 2), (1, 2), (0, 0), True, True, None),
        ((1, 3), (1, 2), (0, 1), False, True, 2),
        ((2, 2), (2, 1), (0, 1), True, False, 3),
    )
    return _uneven_pools(shape, names, options)


def _uneven_maxima(shape: Shape) -> Choices:
    names = (*WINDOW, "dilation", "ceil_mode")
    options = (
        ((1, 2), (1, 1), (0, 0), (1, 1), False),
        ((2, 1), (2, 1), (0, 0), (1, 1), False),
        ((1, 2), (1, 2), (0, 1), (1, 1), False),
        ((2, 2), (1, 1), (1, 0), (2, 1), False),
        ((1, 2), (1, 1), (0, 1), (1, 2), False),
        ((2, 1), (2, 1), (1, 0), (1, 1), True),
        ((2, 2), (2, 2), (0, 1), (1, 2), True),
        ((1, 2), (1, 2), (0, 0), (1, 1), True),
    )
    return _uneven_pools(shape, names, options)


def _power_pool(j, x, kernel_size, stride):
    return j.np.sqrt(sum(s * s for _, s in taps(j, x, (kernel_size,), stride)))


def _adaptive(j, x, output_size):
    mean = np.zeros((x.shape[-1], output_size))
    for i, (start, stop) in enumerate(_parts(x.shape[-1], output_size)):
        mean[start:stop, i] = 1 / (stop - start)
    return j.np.matmul(x, mean)


def _adaptive_both(j, x, output_size):
    rows = j.np.swapaxes(_adaptive(j, j.np.swapaxes(x, -1, -2), output_size[0]), -1, -2)
    return _adaptive(j, rows, output_size[1])


def _adaptive_max(j, x, output_size):
    parts = _parts(x.shape[-1], output_size)
    return stacked(j, [j.np.max(j.lax.slice_in_dim(x, *part, axis=x.ndim - 1), axis=-1) for part in parts], -1)


def _parts(n: int, parts: int) -> list[tuple[int, int]]:
    """Returns the start and the stop of each part of `n` elements; neighbours may share an element."""
    return [(i * n // parts, -(-(i + 1) * n // parts)) for i in range(parts)]


def _adapted(shape: Shape) -> Choices:
    return [{"output_size": n} for n in dict.fromkeys((1, 2, shape[-1])) if size(shape[:-1]) * n <= LARGEST]


def _pooled(low: int):
    return every(nonempty, ranked(2, 5), lambda shape: shape[-1] >= low)


WINDOW = ("kernel_size", "stride", "padding")
FILLING = (*WINDOW, "ceil_mode", "dilation")
POOL = "{kernel_size}, stride={stride}, padding={padding}"
SIGNALS, IMAGES = ((1, 2, 4),), ((1, 1, 3, 3), (1, 2, 2, 3))
VOLUMES = ((1, 2, 2, 3), (1, 1, 2, 2, 2), (1, 2, 2, 2, 3))
OBLONG = ((1, 3, 4), (1, 1, 3, 3), (1, 2, 2, 3))


def _op(name: str, torch: str, reference, accepts, more=(), saves=ALWAYS, domain=DISTINCT, **fields) -> Op:
    return Op(name, torch, reference, saves, domains=(domain,), **fields, **shaped(accepts, *more))


# PyTorch saves the operand of average pooling only for its shape, but frees it with the graph: MAYBE, not NEVER.
POOLING = table(
    "pooling",
    _op(
        "avg_pool1d",
        f"F.avg_pool1d({{0}}, {POOL})",
        _mean_pool(1),
        every(_pooled(1), ranked(2, 3)),
        SIGNALS,
        MAYBE,
        ANY,
        also_saves=(0,),
        choices=_pools(1),
    ),
    _op(
        "avg_pool2d",
        f"F.avg_pool2d({{0}}, {POOL})",
        _mean_pool(2),
        every(_pooled(1), ranked(3, 4)),
        IMAGES,
        MAYBE,
        ANY,
        also_saves=(0,),
        choices=_pools(2),
    ),
    _op(
        "avg_pool2d_uneven",
        f"F.avg_pool2d({{0}}, {POOL}, ceil_mode={{ceil_mode}}, count_include_pad={{count_include_pad}}, "
        "divisor_override={divisor_override})",
        _uneven_mean,
        every(_pooled(2), ranked(3, 4)),
        OBLONG,
        MAYBE,
        ANY,
        also_saves=(0,),
        choices=_uneven_means,
    ),
    _op(
        "max_pool1d",
        f"F.max_pool1d({{0}}, {POOL})",
        _max_pool(1),
        every(_pooled(1), ranked(2, 3)),
        SIGNALS,
        choices=_pools(1),
    ),
    _op(
        "max_pool2d",
        f"F.max_pool2d({{0}}, {POOL})",
        _max_pool(2),
        every(_pooled(1), ranked(3, 4)),
        IMAGES,
        choices=_pools(2),
    ),
    _op(
        "max_pool2d_uneven",
        f"F.max_pool2d({{0}}, {POOL}, dilation={{dilation}}, ceil_mode={{ceil_mode}})",
        _max_pool(2),
        every(_pooled(2), ranked(3, 4)),
        OBLONG,
        choices=_uneven_maxima,
    ),
    _op(
        "lp_pool1d",
        "F.lp_pool1d({0}, 2.0, {kernel_size}, stride={stride})",
        _power_pool,
        every(_pooled(2), ranked(2, 3)),
        SIGNALS,
        domain=ZEROS_APART,
        choices=lambda shape: [{"kernel_size": 2, "stride": s} for s in (1, 2)],
    ),
    _op(
        "adaptive_avg_pool1d",
        "F.adaptive_avg_pool1d({0}, {output_size})",
        _adaptive,
        every(_pooled(1), ranked(2, 3)),
        SIGNALS,
        MAYBE,
        ANY,
        also_saves=(0,),
        choices=_adapted,
    ),
    _op(
        "avg_pool3d",
        f"F.avg_pool3d({{0}}, {POOL})",
        _mean_pool(3),
        every(_pooled(1), ranked(4, 5)),
        VOLUMES,
        MAYBE,
        ANY,
        also_saves=(0,),
        choices=_pools(3),
    ),
    _op(
        "max_pool3d",
        f"F.max_pool3d({{0}}, {POOL})",
        _max_pool(3),
        every(_pooled(1), ranked(4, 5)),
        VOLUMES,
        choices=_pools(3),
    ),
    _op(
        "adaptive_avg_pool2d",
        "F.adaptive_avg_pool2d({0}, {output_size})",
        _adaptive_both,
        every(_pooled(1), ranked(3, 4)),
        IMAGES,
        MAYBE,
        ANY,
        also_saves=(0,),
        choices=lambda shape: [
            {"output_size": to} for to in ((1, 1), (2, 1), (1, 2)) if size((*shape[:-2], *to)) <= LARGEST
        ],
    ),
    _op(
        "adaptive_max_pool1d",
        "F.adaptive_max_pool1d({0}, {output_size})",
        _adaptive_max,
        every(_pooled(1), ranked(2, 3)),
        SIGNALS,
        choices=_adapted,
    ),
)
