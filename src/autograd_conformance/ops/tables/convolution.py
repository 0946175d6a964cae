"""Convolution and pooling in one and two dimensions, written as sums over the kernel's taps.

Each tap of a kernel reads a strided slice of the padded operand. A convolution adds the taps' products; a pooling takes
their mean, maximum or norm.
"""

from __future__ import annotations

from itertools import product

from autograd_conformance.ops.rows.domains import ANY, DISTINCT, NONZERO, SQUARABLE
from autograd_conformance.ops.rows.row import LARGEST, Certainty, Choices, Op, table
from autograd_conformance.ops.rows.selection import stacked
from autograd_conformance.ops.rows.shapes import every, nonempty, ranked, shaped, size
from autograd_conformance.programs.language import Shape
from autograd_conformance.programs.own_numpy import np

ALWAYS, MAYBE = Certainty.ALWAYS, Certainty.MAYBE

Settings = tuple[int, int, int]


def _length(n: int, k: int, stride: int, padding: int, dilation: int) -> int:
    return (n + 2 * padding - dilation * (k - 1) - 1) // stride + 1


def _padded(j, x, rank, low, high, value=0.0, gap=0):
    """The operand with its trailing `rank` dimensions padded on both sides, and `gap` zeros inserted between
    neighbours.
    """
    return j.lax.pad(x, np.array(value, x.dtype), [(0, 0, 0)] * (x.ndim - rank) + [(low, high, gap)] * rank)


def _taps(j, x, kernel, stride, dilation):
    """Yields, for each tap of a kernel, the tap's position in the kernel and the slice of the trailing dimensions that
    the tap reads.
    """
    leading = x.ndim - len(kernel)
    lengths = [_length(n, k, stride, 0, dilation) for n, k in zip(x.shape[leading:], kernel, strict=True)]
    for tap in product(*map(range, kernel)):
        starts = [at * dilation for at in tap]
        stops = [start + (n - 1) * stride + 1 for start, n in zip(starts, lengths, strict=True)]
        strides = (1,) * leading + (stride,) * len(kernel)
        yield (tap, j.lax.slice(x, (0,) * leading + tuple(starts), x.shape[:leading] + tuple(stops), strides))


def _convolve(j, x, weight, *bias, stride=1, padding=0, dilation=1, groups=1):
    out, per_group, *kernel = weight.shape
    x = _padded(j, x, len(kernel), padding, padding)
    total = 0.0
    for tap, window in _taps(j, x, kernel, stride, dilation):
        grouped = j.np.reshape(window, (x.shape[0], groups, per_group, -1))
        at = weight
        for i in tap:
            at = j.lax.index_in_dim(at, i, axis=2, keepdims=False)
        total = total + j.np.einsum("ngcp,goc->ngop", grouped, j.np.reshape(at, (groups, out // groups, per_group)))
    total = j.np.reshape(total, (x.shape[0], out, *window.shape[2:]))
    return total + j.np.reshape(bias[0], (1, -1, *(1,) * len(kernel))) if bias else total


def _convolve_transposed(j, x, weight, stride, padding, output_padding, groups):
    channels, per_group, *kernel = weight.shape
    split = j.np.reshape(weight, (groups, channels // groups, per_group, *kernel))
    flipped = j.np.flip(j.np.swapaxes(split, 1, 2), axis=tuple(range(3, 3 + len(kernel))))
    flipped = j.np.reshape(flipped, (groups * per_group, channels // groups, *kernel))
    reach = kernel[0] - 1 - padding
    return _convolve(
        j, _padded(j, x, len(kernel), reach, reach + output_padding, gap=stride - 1), flipped, groups=groups
    )


def _pools(*rank: int):
    """Returns a function that offers pooling windows (``kernel_size``, ``stride``, ``padding``) for an operand that is
    long enough.
    """

    def choices(shape: Shape) -> Choices:
        options = ((2, 1, 0), (2, 2, 0), (2, 2, 1), (1, 1, 0), (2, 1, 1), (3, 2, 1), (3, 3, 0), (1, 2, 0))
        names = ("kernel_size", "stride", "padding")
        shortest = min(shape[-rank[0] :])
        return [
            dict(zip(names, c, strict=True))
            for c in options
            if shortest + 2 * c[2] >= c[0] and _room(shape, rank[0], c)
        ]

    return choices


def _room(shape: Shape, rank: int, window: tuple[int, int, int]) -> bool:
    return size((*shape[:-rank], *(_length(n, *window, 1) for n in shape[-rank:]))) <= LARGEST


def _mean_pool(rank: int):
    def reference(j, x, kernel_size, stride, padding):
        windows = [s for _, s in _taps(j, _padded(j, x, rank, padding, padding), (kernel_size,) * rank, stride, 1)]
        return sum(windows) / len(windows)

    return reference


def _max_pool(rank: int):
    def reference(j, x, kernel_size, stride, padding):
        padded = _padded(j, x, rank, padding, padding, value=-1e30)
        windows = [s for _, s in _taps(j, padded, (kernel_size,) * rank, stride, 1)]
        return j.np.max(stacked(j, windows, 0), axis=0)

    return reference


def _power_pool(j, x, kernel_size, stride):
    windows = [s * s for _, s in _taps(j, x, (kernel_size,), stride, 1)]
    return j.np.sqrt(sum(windows))


def _adaptive(j, x, output_size):
    n = x.shape[-1]
    mean = np.zeros((n, output_size))
    for i in range(output_size):
        start, stop = i * n // output_size, -(-(i + 1) * n // output_size)
        mean[start:stop, i] = 1 / (stop - start)
    return j.np.matmul(x, mean)


def _kernels(rank: int, biased: bool = False):
    """Returns a function that offers shapes of a convolution's weight (and bias): one or two output channels, several
    kernel sizes, and one group per channel if there are several channels.
    """

    def rest(first: Shape) -> list[tuple[Shape, ...]]:
        channels, shortest = first[1], min(first[2:])
        sizes = [k for k in (2, 1, 3) if k <= shortest]
        whole = [(out, channels, *(k,) * rank) for k in sizes for out in (2, 1)]
        apart = [(channels, 1, *(k,) * rank) for k in sizes if channels > 1]
        fitting = [s for s in dict.fromkeys((*whole, *apart)) if first[0] * s[0] * size(first[2:]) <= LARGEST]
        return [(s, (s[0],)) if biased else (s,) for s in fitting]

    return rest


def _convolutions(*shapes: Shape) -> Choices:
    first, weight = shapes[:2]
    k, shortest = weight[2], min(first[2:])
    options = ((1, 0, 1), (2, 0, 1), (1, 1, 1), (2, 1, 1), (1, 0, 2), (1, 1, 2), (2, 1, 2), (3, 2, 1))
    names = ("stride", "padding", "dilation")

    def fits(c: Settings) -> bool:
        lengths = [_length(n, k, *c) for n in first[2:]]
        return min(lengths) > 0 and shortest + 2 * c[1] >= k and size((first[0], weight[0], *lengths)) <= LARGEST

    return [{**dict(zip(names, c, strict=True)), "groups": first[1] // weight[1]} for c in options if fits(c)]


def _transposed_kernels(first: Shape) -> list[tuple[Shape, ...]]:
    channels = first[1]
    options = [(channels, 1, 2), (channels, 2, 2), (channels, 1, 1)]
    return [(s,) for s in options if first[0] * s[1] * channels * (2 * first[2] + 1) <= LARGEST]


def _transpositions(*shapes: Shape) -> Choices:
    first, weight = shapes
    names = ("stride", "padding", "output_padding")
    options = [(1, 0, 0), (2, 0, 0), (2, 0, 1), *([(1, 1, 0)] if first[2] + weight[2] > 3 and weight[2] > 1 else [])]
    groups = [1, *([first[1]] if first[1] > 1 else [])]
    return [{**dict(zip(names, c, strict=True)), "groups": g} for g in groups for c in options]


def _signal(shape: Shape) -> bool:
    return len(shape) == 3 and nonempty(shape) and size(shape) <= 12


def _image(shape: Shape) -> bool:
    return len(shape) == 4 and nonempty(shape) and size(shape) <= 12


def _pooled(low: int):
    return every(nonempty, ranked(2, 4), lambda shape: shape[-1] >= low)


CONV = "stride={stride}, padding={padding}, dilation={dilation}, groups={groups}"
POOL2 = "{kernel_size}, stride={stride}, padding={padding}"
SIGNALS, IMAGES = ((1, 2, 4),), ((1, 1, 3, 3), (1, 2, 2, 3))


def _op(name: str, torch: str, reference, accepts, more=(), saves=ALWAYS, domain=SQUARABLE, **fields) -> Op:
    return Op(name, torch, reference, saves, domains=(domain,), **fields, **shaped(accepts, *more))


# One backward op serves input and kernel: both are saved, whichever requires grad.
CONVOLUTION = table(
    "convolution",
    _op(
        "conv1d",
        f"F.conv1d({{0}}, {{1}}, {CONV})",
        _convolve,
        _signal,
        SIGNALS,
        rest=_kernels(1),
        choices=_convolutions,
        also_saves=(0, 1),
    ),
    _op(
        "conv1d_bias",
        f"F.conv1d({{0}}, {{1}}, bias={{2}}, {CONV})",
        _convolve,
        _signal,
        SIGNALS,
        rest=_kernels(1, biased=True),
        choices=_convolutions,
        also_saves=(0, 1),
        unsaved=(2,),
    ),
    _op(
        "conv2d",
        f"F.conv2d({{0}}, {{1}}, {CONV})",
        _convolve,
        _image,
        IMAGES,
        rest=_kernels(2),
        choices=_convolutions,
        also_saves=(0, 1),
    ),
    _op(
        "conv2d_bias",
        f"F.conv2d({{0}}, {{1}}, bias={{2}}, {CONV})",
        _convolve,
        _image,
        IMAGES,
        rest=_kernels(2, biased=True),
        choices=_convolutions,
        also_saves=(0, 1),
        unsaved=(2,),
    ),
    _op(
        "conv_transpose1d",
        "F.conv_transpose1d({0}, {1}, stride={stride}, padding={padding}, output_padding={output_padding}, "
        "groups={groups})",
        _convolve_transposed,
        every(_signal, lambda s: size(s) <= 8),
        SIGNALS,
        rest=_transposed_kernels,
        choices=_transpositions,
        also_saves=(0, 1),
    ),
)

# PyTorch saves the operand of average pooling only for its shape, but frees it with the graph: MAYBE, not NEVER.
POOLING = table(
    "pooling",
    _op(
        "avg_pool1d",
        f"F.avg_pool1d({{0}}, {POOL2})",
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
        f"F.avg_pool2d({{0}}, {POOL2})",
        _mean_pool(2),
        every(_pooled(1), ranked(3, 4)),
        IMAGES,
        MAYBE,
        ANY,
        also_saves=(0,),
        choices=_pools(2),
    ),
    _op(
        "max_pool1d",
        f"F.max_pool1d({{0}}, {POOL2})",
        _max_pool(1),
        every(_pooled(1), ranked(2, 3)),
        SIGNALS,
        ALWAYS,
        DISTINCT,
        choices=_pools(1),
    ),
    _op(
        "max_pool2d",
        f"F.max_pool2d({{0}}, {POOL2})",
        _max_pool(2),
        every(_pooled(1), ranked(3, 4)),
        IMAGES,
        ALWAYS,
        DISTINCT,
        choices=_pools(2),
    ),
    _op(
        "lp_pool1d",
        "F.lp_pool1d({0}, 2.0, {kernel_size}, stride={stride})",
        _power_pool,
        every(_pooled(2), ranked(2, 3)),
        SIGNALS,
        ALWAYS,
        NONZERO,
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
        choices=lambda shape: [
            {"output_size": n} for n in dict.fromkeys((1, 2, shape[-1])) if size(shape[:-1]) * n <= LARGEST
        ],
    ),
)
