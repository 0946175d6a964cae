"""Templates of JAX code for ops that look at windows of an array, or put a border around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograd_conformance.printing.dialect import Template

Names = Sequence[str]
Attributes = Mapping[str, Any]

MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
"""JAX's names of the modes of padding, by PyTorch's."""


def each(number: int | tuple[int, ...], rank: int) -> tuple[int, ...]:
    """Returns a number for each of `rank` dimensions: the same for all unless several are given."""
    return number if isinstance(number, tuple) else (number,) * rank


def conv(rank: int) -> Template:
    """Makes a template of a convolution over `rank` dimensions."""

    def code(x: Names, attrs: Attributes) -> str:
        padding = [(by, by) for by in each(attrs["padding"], rank)]
        return (
            f"jax.lax.conv_general_dilated({x[0]}, {x[1]}, {each(attrs['stride'], rank)}, {padding}, "
            f"rhs_dilation={each(attrs['dilation'], rank)}, feature_group_count={attrs['groups']})"
        )

    return code


def max_pool(rank: int) -> Template:
    """Makes a template of the maximum in windows over `rank` dimensions; a batch may be in front of the channels."""

    def code(x: Names, attrs: Attributes) -> str:
        ones = f"(1,) * ({x[0]}.ndim - {rank})"
        padding = [(by, by) for by in each(attrs["padding"], rank)]
        return (
            f"jax.lax.reduce_window({x[0]}, -jnp.inf, jax.lax.max, {ones} + {each(attrs['kernel_size'], rank)}, "
            f"{ones} + {each(attrs['stride'], rank)}, [(0, 0)] * ({x[0]}.ndim - {rank}) + {padding}, "
            f"window_dilation={ones} + {each(attrs.get('dilation', 1), rank)})"
        )

    return code


def conv_transpose(rank: int) -> Template:
    """Makes a template of a transposed convolution over `rank` dimensions: JAX counts the padding of the result's side,
    which is what the kernel spans beside its centre, less the padding of PyTorch.
    """
    letters = "DHW"[3 - rank :]
    layout = (f"NC{letters}", f"OI{letters}", f"NC{letters}")

    def code(x: Names, attrs: Attributes) -> str:
        dilation = each(attrs.get("dilation", 1), rank)
        more, less = each(attrs["output_padding"], rank), each(attrs["padding"], rank)
        spans = [f"{dilation[k]} * ({x[1]}.shape[{k + 2}] - 1)" for k in range(rank)]
        padding = ", ".join(f"({spans[k]} - {less[k]}, {spans[k]} - {less[k]} + {more[k]})" for k in range(rank))
        return (
            f"jax.lax.conv_transpose({x[0]}, {x[1]}, {each(attrs['stride'], rank)}, [{padding}], "
            f"rhs_dilation={dilation}, dimension_numbers={layout}, transpose_kernel=True)"
        )

    return code


def pad(x: Names, attrs: Attributes) -> str:
    """The code of a border of one value: PyTorch gives its widths from the last dimension on."""
    widths = [(*attrs["pad"][k : k + 2], 0) for k in reversed(range(0, len(attrs["pad"]), 2))]
    rest = f"[(0, 0, 0)] * ({x[0]}.ndim - {len(widths)})"
    return f"jax.lax.pad({x[0]}, jnp.array({attrs['value']}, {x[0]}.dtype), {rest} + {widths})"


def pad_border(x: Names, attrs: Attributes) -> str:
    """The code of a border of an array's own elements around the last dimension."""
    widths = f"[(0, 0)] * ({x[0]}.ndim - 1) + [{attrs['pad']}]"
    return f"jnp.pad({x[0]}, {widths}, mode={MODES[attrs['mode']]!r})"


def interpolate_nearest(x: Names, attrs: Attributes) -> str:
    """The code of an array with more elements along the dimensions after samples and channels."""
    shape = f"{x[0]}.shape[:2] + tuple(n * {int(attrs['scale'])} for n in {x[0]}.shape[2:])"
    return f"jax.image.resize({x[0]}, {shape}, 'nearest')"


def im2col(x: Names, attrs: Attributes) -> str:
    """The code of an image's windows, each in a column."""
    patches = f"jax.lax.conv_general_dilated_patches({x[0]}, {attrs['kernel_size']}, (1, 1), 'VALID')"
    return f"jax.lax.collapse({patches}, 2)"
