"""Convolution in one to three dimensions, written as a sum over the kernel's taps.

Each tap of a kernel reads a strided slice of the padded operand, and a convolution adds the taps' products.
"""

from __future__ import annotations

from collections.abc import Sequence

from autograd_conformance.ops.rows.domains import SQUARABLE
from autograd_conformance.ops.rows.row import LARGEST, Certainty, Choices, Op, table
from autograd_conformance.ops.rows.shapes import every, nonempty, ranked, shaped, size
from autograd_conformance.ops.tables.windows import Setting, counts, each, padded, taps
from autograd_conformance.programs.language import Shape


def _convolve(j, x, weight, *bias, stride=1, padding=0, dilation=1, groups=1):
    out, per_group, *kernel = weight.shape
    x = padded(j, x, padding, padding, len(kernel))
    total = 0.0
    for tap, window in taps(j, x, tuple(kernel), stride, dilation):
        grouped = j.np.reshape(window, (x.shape[0], groups, per_group, -1))
        at = weight
        for i in tap:
            at = j.lax.index_in_dim(at, i, axis=2, keepdims=False)
        total = total + j.np.einsum("ngcp,goc->ngop", grouped, j.np.reshape(at, (groups, out // groups, per_group)))
    total = j.np.reshape(total, (x.shape[0], out, *window.shape[2:]))
    return total + j.np.reshape(bias[0], (1, -1, *(1,) * len(kernel))) if bias else total


def _convolve_transposed(j, x, weight, stride, padding, output_padding, groups, dilation=1):
    channels, per_group, *kernel = weight.shape
    rank = len(kernel)
    split = j.np.reshape(weight, (groups, channels // groups, per_group, *kernel))
    flipped = j.np.flip(j.np.swapaxes(split, 1, 2), axis=tuple(range(3, 3 + rank)))
    flipped = j.np.reshape(flipped, (groups * per_group, channels // groups, *kernel))
    along = zip(kernel, each(padding, rank), each(dilation, rank), strict=True)
    reach = tuple(d * (k - 1) - p for k, p, d in along)
    high = tuple(n + out for n, out in zip(reach, each(output_padding, rank), strict=True))
    gaps = tuple(s - 1 for s in each(stride, rank))
    x = padded(j, x, reach, high, rank, gap=gaps)
    return _convolve(j, x, flipped, dilation=dilation, groups=groups)


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


def _offered(first: Shape, weight: Shape, options: Sequence[tuple[Setting, Setting, Setting]]) -> Choices:
    """Returns those of the options, each a stride, a padding and a dilation, whose windows fit into the operand."""

    def fits(stride: Setting, padding: Setting, dilation: Setting) -> bool:
        windows = counts(first[2:], weight[2:], stride, padding, dilation)
        return min(windows) > 0 and size((first[0], weight[0], *windows)) <= LARGEST

    return [{**dict(zip(SETTINGS, o, strict=True)), "groups": first[1] // weight[1]} for o in options if fits(*o)]


def _convolutions(*shapes: Shape) -> Choices:
    first, weight = shapes[:2]
    k, shortest = weight[2], min(first[2:])
    options = ((1, 0, 1), (2, 0, 1), (1, 1, 1), (2, 1, 1), (1, 0, 2), (1, 1, 2), (2, 1, 2), (3, 2, 1))
    return _offered(first, weight, [o for o in options if shortest + 2 * o[1] >= k])


def _uneven_kernels(first: Shape) -> list[tuple[Shape, ...]]:
    """Offers shapes of a weight whose kernel is longer in one dimension than in the other."""
    channels = first[1]
    sizes = [(1, 2), (2, 1), (2, 3), (1, 3), (3, 1)]
    fitting = [k for k in sizes if all(k <= n for k, n in zip(k, first[2:], strict=True))]
    whole = [(out, channels, *k) for k in fitting for out in (1, 2)]
    apart = [(channels, 1, *k) for k in fitting if channels > 1]
    return [(s,) for s in (*whole, *apart) if first[0] * s[0] * size(first[2:]) <= LARGEST]


def _uneven_convolutions(*shapes: Shape) -> Choices:
    options = (
        ((1, 1), (0, 0), (1, 1)),
        ((2, 1), (0, 0), (1, 1)),
        ((1, 2), (0, 1), (1, 1)),
        ((1, 1), (1, 0), (1, 1)),
        ((1, 1), (0, 1), (1, 2)),
        ((1, 1), (1, 0), (2, 1)),
        ((2, 3), (2, 1), (1, 2)),
        ((1, 3), (1, 2), (2, 1)),
    )
    return _offered(shapes[0], shapes[1], options)


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


def _transposed_uneven_kernels(first: Shape) -> list[tuple[Shape, ...]]:
    return [((first[1], out, *k),) for k in ((1, 2), (2, 1), (2, 2)) for out in (1, 2)]


def _uneven_transpositions(*shapes: Shape) -> Choices:
    """Offers strides, paddings, output paddings, dilations and groups that differ between the two dimensions; an output
    padding is less than the stride or the dilation, as PyTorch demands.
    """
    first, weight = shapes
    names = ("stride", "padding", "output_padding", "dilation")
    options = (
        ((1, 1), (0, 0), (0, 0), (1, 1)),
        ((2, 1), (0, 0), (0, 0), (1, 1)),
        ((1, 2), (0, 0), (0, 1), (1, 1)),
        ((2, 1), (1, 0), (1, 0), (1, 1)),
        ((1, 1), (0, 1), (0, 0), (1, 1)),
        ((1, 1), (0, 0), (0, 1), (1, 2)),
        ((2, 1), (0, 1), (0, 0), (1, 2)),
    )

    def windows(option) -> list[int]:
        along = zip(first[2:], weight[2:], *option, strict=True)
        return [(n - 1) * s - 2 * p + d * (k - 1) + out + 1 for n, k, s, p, out, d in along]

    def fits(option, groups: int) -> bool:
        return min(windows(option)) > 0 and size((first[0], weight[1] * groups, *windows(option))) <= LARGEST

    grouped = [(o, first[1]) for o in options[2:4] if first[1] > 1]
    offered = [(o, groups) for o, groups in (*((o, 1) for o in options), *grouped) if fits(o, groups)]
    return [{**dict(zip(names, o, strict=True)), "groups": groups} for o, groups in offered]


def _signal(shape: Shape) -> bool:
    return len(shape) == 3 and nonempty(shape) and size(shape) <= 12


def _image(shape: Shape) -> bool:
    return len(shape) == 4 and nonempty(shape) and size(shape) <= 12


SETTINGS = ("stride", "padding", "dilation")
CONV = "stride={stride}, padding={padding}, dilation={dilation}, groups={groups}"
TRANSPOSED = "stride={stride}, padding={padding}, output_padding={output_padding}, groups={groups}"
SIGNALS, IMAGES = ((1, 2, 4),), ((1, 1, 3, 3), (1, 2, 2, 3))


def _op(name: str, torch: str, reference, accepts, more=(), **fields) -> Op:
    # One backward op serves input and kernel: both are saved, whichever requires grad.
    fields = {"domains": (SQUARABLE,), "also_saves": (0, 1), **shaped(accepts, *more), **fields}
    return Op(name, torch, reference, Certainty.ALWAYS, **fields)


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
    ),
    _op(
        "conv1d_bias",
        f"F.conv1d({{0}}, {{1}}, bias={{2}}, {CONV})",
        _convolve,
        _signal,
        SIGNALS,
        rest=_kernels(1, biased=True),
        choices=_convolutions,
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
    ),
    _op(
        "conv2d_bias",
        f"F.conv2d({{0}}, {{1}}, bias={{2}}, {CONV})",
        _convolve,
        _image,
        IMAGES,
        rest=_kernels(2, biased=True),
        choices=_convolutions,
        unsaved=(2,),
    ),
    _op(
        "conv2d_uneven",
        f"F.conv2d({{0}}, {{1}}, {CONV})",
        _convolve,
        every(_image, lambda s: bool(_uneven_kernels(s))),
        ((1, 1, 3, 4), (1, 2, 2, 3), (2, 1, 3, 2)),
        rest=_uneven_kernels,
        choices=_uneven_convolutions,
    ),
    _op(
        "conv_transpose1d",
        f"F.conv_transpose1d({{0}}, {{1}}, {TRANSPOSED})",
        _convolve_transposed,
        every(_signal, lambda s: size(s) <= 8),
        SIGNALS,
        rest=_transposed_kernels,
        choices=_transpositions,
    ),
    _op(
        "conv_transpose2d",
        f"F.conv_transpose2d({{0}}, {{1}}, {TRANSPOSED}, dilation={{dilation}})",
        _convolve_transposed,
        every(_image, lambda s: size(s) <= 4 and s[0] * s[1] <= 2),
        ((1, 1, 2, 2), (1, 2, 1, 2), (2, 1, 2, 1)),
        rest=_transposed_uneven_kernels,
        choices=_uneven_transpositions,
    ),
    _op(
        "conv3d",
        f"F.conv3d({{0}}, {{1}}, {CONV})",
        _convolve,
        every(ranked(5, 5), nonempty, lambda s: size(s) <= 12),
        ((1, 1, 2, 2, 2), (1, 2, 1, 2, 2), (1, 1, 2, 2, 3)),
        rest=_kernels(3),
        choices=_convolutions,
    ),
)
