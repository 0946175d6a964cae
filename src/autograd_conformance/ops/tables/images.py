"""Ops on images and on rows of pixels: blocks of channels as pixels, interpolation, windows as columns, and images
sampled at places that are an operand.
"""

from __future__ import annotations

from autograd_conformance.ops.rows.domains import ANY, off_steps
from autograd_conformance.ops.rows.row import Certainty, Op, table
from autograd_conformance.ops.rows.selection import picked, placed
from autograd_conformance.ops.rows.shapes import every, nonempty, offer, ranked, size
from autograd_conformance.programs.own_numpy import np


def _shuffled(at: np.ndarray) -> np.ndarray:
    """The elements of images, with blocks of four channels as squares of four pixels."""
    *batch, c, h, w = at.shape
    squares = np.moveaxis(at.reshape(*batch, c // 4, 2, 2, h, w), (-4, -3), (-3, -1))
    return squares.reshape(*batch, c // 4, 2 * h, 2 * w)


def _unshuffled(at: np.ndarray) -> np.ndarray:
    """The elements of images, with squares of four pixels as blocks of four channels."""
    *batch, c, h, w = at.shape
    blocks = np.moveaxis(at.reshape(*batch, c, h // 2, 2, w // 2, 2), (-3, -1), (-4, -3))
    return blocks.reshape(*batch, 4 * c, h // 2, w // 2)


def _grouped(at: np.ndarray, groups: int) -> np.ndarray:
    return at.reshape(at.shape[0], groups, at.shape[1] // groups, *at.shape[2:])


def _between(n: int, m: int) -> np.ndarray:
    """Returns the matrix that interpolates `m` numbers, at equal distances, between `n` numbers in a row."""
    weights = np.zeros((n, m))
    for k in range(m):
        place = k * (n - 1) / (m - 1) if m > 1 else 0.0
        low = min(int(place), n - 1)
        weights[low, k] += 1 - (place - low)
        weights[min(low + 1, n - 1), k] += place - low
    return weights


def _patches(at: np.ndarray, kernel_size: tuple[int, int]) -> np.ndarray:
    """Returns the elements of images window by window, as columns."""
    found = np.lib.stride_tricks.sliding_window_view(at, kernel_size, axis=(-2, -1))
    n, c, h, w, *_ = found.shape
    return np.transpose(found, (0, 1, 4, 5, 2, 3)).reshape(n, c * kernel_size[0] * kernel_size[1], h * w)


def _sampled(j, image, grid, padding_mode):
    """Returns the pixels at the places of a grid, whose numbers reach from -1, the middle of the first pixel of a row
    or column, to 1, that of the last one.
    """

    def weights(places, n: int):
        at = (places + 1) * (n - 1) / 2
        if padding_mode == "border":
            at = j.np.clip(at, 0, n - 1)
        return j.np.maximum(1 - j.np.abs(at[..., None] - np.arange(n)), 0.0)[:, None]

    columns, rows = (weights(grid[..., k], image.shape[-1 - k]) for k in (0, 1))
    return j.np.sum(image[:, :, None, None] * rows[..., None] * columns[..., None, :], axis=(-2, -1))


def _grid(h: int, w: int) -> np.ndarray:
    """Returns the places of the pixels of an image, each as column, row and 1."""

    def places(n: int) -> np.ndarray:
        return np.linspace(-1.0, 1.0, n) if n > 1 else np.zeros(1)

    rows, columns = np.meshgrid(places(h), places(w), indexing="ij")
    return np.stack([columns, rows, np.ones((h, w))], axis=-1)


def _op(name: str, torch: str, reference, choices, accepts, fresh, saves=Certainty.NEVER, **more) -> Op:
    return Op(name, torch, reference, saves, accepts, fresh, choices=choices, **more)


IMAGES = table(
    "images",
    _op(
        "pixel_shuffle",
        "F.pixel_shuffle({0}, 2)",
        lambda j, x: picked(j, x, _shuffled),
        offer(),
        every(nonempty, ranked(3, 4), lambda s: s[-3] % 4 == 0),
        fresh=((4, 1, 2), (4, 2, 1), (1, 4, 1, 2), (8, 1, 1)),
    ),
    _op(
        "pixel_unshuffle",
        "F.pixel_unshuffle({0}, 2)",
        lambda j, x: picked(j, x, _unshuffled),
        offer(),
        every(nonempty, ranked(3, 4), lambda s: s[-1] % 2 == s[-2] % 2 == 0),
        fresh=((1, 2, 2), (1, 2, 4), (2, 1, 2, 2)),
    ),
    _op(
        "channel_shuffle",
        "F.channel_shuffle({0}, {groups})",
        lambda j, x, groups: picked(j, x, lambda at: np.swapaxes(_grouped(at, groups), 1, 2).reshape(at.shape)),
        lambda s: [{"groups": n} for n in (2, 3) if s[1] % n == 0],
        every(nonempty, ranked(3, 4), lambda s: s[1] % 2 == 0 or s[1] % 3 == 0),
        fresh=((1, 4, 2), (2, 4, 1), (1, 6, 1)),
    ),
    _op(
        "interpolate_nearest",
        "F.interpolate({0}, scale_factor={scale}, mode='nearest')",
        lambda j, x, scale: picked(j, x, lambda at: np.repeat(at, int(scale), axis=-1)),
        offer(scale=(2.0, 3.0)),
        every(nonempty, ranked(3, 3), lambda s: size(s) <= 8),
        fresh=((1, 2, 2), (2, 1, 3), (2, 2, 2)),
    ),
    _op(
        "interpolate_linear",
        "F.interpolate({0}, size={size}, mode='linear', align_corners=True)",
        lambda j, x, size: j.np.matmul(x, _between(x.shape[-1], size)),
        offer(size=(5, 3, 1)),
        every(nonempty, ranked(3, 3), lambda s: s[0] * s[1] <= 4),
        fresh=((1, 2, 2), (2, 1, 3), (2, 2, 2)),
    ),
    _op(
        "im2col",
        "F.unfold({0}, {kernel_size})",
        lambda j, x, kernel_size: picked(j, x, lambda at: _patches(at, kernel_size)),
        lambda s: [{"kernel_size": k} for k in ((2, 2), (1, 2), (2, 1)) if k[0] <= s[-2] and k[1] <= s[-1]],
        every(nonempty, ranked(4, 4), lambda s: s[-1] > 1 and s[-2] > 1 and size(s) <= 9),
        fresh=((1, 1, 3, 3), (1, 2, 2, 2), (2, 1, 2, 2)),
    ),
    _op(
        "col2im",
        "F.fold({0}, (3, 3), (2, 2))",
        lambda j, x: placed(j, x, lambda at: _patches(at, (2, 2)), (x.shape[0], x.shape[1] // 4, 3, 3)),
        offer(),
        every(nonempty, ranked(3, 3), lambda s: s[1] % 4 == 0 and s[2] == 4),
        fresh=((1, 4, 4),),
    ),
    _op(
        "grid_sample",
        "F.grid_sample({0}, {1}, padding_mode={padding_mode}, align_corners=True)",
        _sampled,
        offer(padding_mode=("zeros", "border")),
        every(ranked(4, 4), lambda s: {*s[2:]} <= {2, 3} and size(s) <= 18),
        fresh=((1, 1, 2, 2), (1, 1, 3, 3), (1, 2, 2, 3), (2, 1, 2, 2)),
        rest=lambda first: [((first[0], *places, 2),) for places in ((1, 2), (2, 2), (3, 1))],
        domains=(ANY, off_steps(0.0)),
        saves=Certainty.ALWAYS,
        also_saves=(0,),
    ),
    _op(
        "affine_grid",
        "F.affine_grid({0}, (len({0}), 1, {h}, {w}), align_corners=True)",
        lambda j, x, h, w: j.np.einsum("hwi,nci->nhwc", _grid(h, w), x),
        offer(h=(2, 3), w=(2, 3)),
        every(ranked(3, 3), lambda s: s[0] in (1, 2) and s[1:] == (2, 3)),
        fresh=((1, 2, 3), (2, 2, 3)),
    ),
)
