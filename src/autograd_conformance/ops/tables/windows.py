"""The windows of convolutions and poolings: how many there are, and the slices of an operand that they read.

Each tap (one position of a window) reads a strided slice of the padded operand. A setting such as a stride is a number
for all dimensions of the window, or a tuple with a number for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from autograd_conformance.programs.language import Shape
from autograd_conformance.programs.own_numpy import np

Setting = int | tuple[int, ...]


def each(setting: Setting, rank: int) -> tuple[int, ...]:
    """Returns a setting's number for each of `rank` dimensions."""
    return setting if isinstance(setting, tuple) else (setting,) * rank


def count(n: int, kernel: int, stride: int, padding: int, dilation: int, ceil: bool = False) -> int:
    """Returns the number of windows along a dimension of `n` elements; it is below 1 if no window fits.

    With `ceil`, a last window may reach beyond the padding, if it begins before the padding on the right.
    """
    room = n + 2 * padding - dilation * (kernel - 1) - 1
    windows = (room + (stride - 1 if ceil else 0)) // stride + 1
    return windows - 1 if ceil and (windows - 1) * stride >= n + padding else windows


def counts(
    shape: Shape, kernel: Setting, stride: Setting, padding: Setting, dilation: Setting = 1, ceil: bool = False
) -> tuple[int, ...]:
    """Returns the number of windows along each of the given dimensions."""
    rank = len(shape)
    settings = zip(each(kernel, rank), each(stride, rank), each(padding, rank), each(dilation, rank), strict=True)
    return tuple(count(n, k, s, p, d, ceil) for n, (k, s, p, d) in zip(shape, settings, strict=True))


def padded(j: Any, x: Any, low: Setting, high: Setting, rank: int, value: float = 0.0, gap: Setting = 0) -> Any:
    """Returns the operand with its last `rank` dimensions padded by `value` on both sides and with `gap` such values
    between neighbours.
    """
    trailing = zip(each(low, rank), each(high, rank), each(gap, rank), strict=True)
    return j.lax.pad(x, np.array(value, x.dtype), [(0, 0, 0)] * (x.ndim - rank) + list(trailing))


def taps(
    j: Any, x: Any, kernel: tuple[int, ...], stride: Setting, dilation: Setting = 1
) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yields, for each tap of a kernel, its position in the kernel and the slice of the last dimensions that it
    reads.
    """
    rank, leading = len(kernel), x.ndim - len(kernel)
    strides, dilations = each(stride, rank), each(dilation, rank)
    windows = counts(x.shape[leading:], kernel, strides, 0, dilations)
    for tap in product(*map(range, kernel)):
        starts = [at * apart for at, apart in zip(tap, dilations, strict=True)]
        stops = [start + (n - 1) * step + 1 for start, n, step in zip(starts, windows, strides, strict=True)]
        yield (
            tap,
            j.lax.slice(x, (0,) * leading + (*starts,), (*x.shape[:leading], *stops), (1,) * leading + strides),
        )
