"""Shape ops of one operand: the same elements in another shape or order, repeated or padded; the result is often a
view.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autograd_conformance.ops.rows.row import POOL, Certainty, Choices, Op, table
from autograd_conformance.ops.rows.selection import picked, stacked
from autograd_conformance.ops.rows.shapes import (
    broadcast,
    every,
    growing,
    having,
    nonempty,
    offer,
    ranked,
    shaped,
    size,
    small,
)
from autograd_conformance.programs.language import Attr, Shape
from autograd_conformance.programs.own_numpy import np

MAYBE, NEVER = Certainty.MAYBE, Certainty.NEVER


def _unique(name: str, options: Sequence[Attr]) -> Choices:
    return [{name: option} for option in dict.fromkeys(options)]


def _shapes(shape: Shape) -> Choices:
    n = size(shape)
    halves = [(2, n // 2)] if n % 2 == 0 else []
    inferred = [(-1,), (shape[0], -1)] if n and len(shape) > 1 else []
    return _unique("shape", [(n,), *halves, shape[::-1], (n, 1), (1, n), *([()] if n == 1 else []), shape, *inferred])


def _orders(shape: Shape) -> Choices:
    all_dims = tuple(range(len(shape)))
    return _unique("dims", [all_dims[::-1], (*all_dims[1:], *all_dims[:1]), all_dims])


def _flatten(j, x, start_dim, end_dim):
    start, end = start_dim, end_dim % x.ndim + 1
    return j.np.reshape(x, (*x.shape[:start], size(x.shape[start:end]), *x.shape[end:]))


def _pairs(shape: Shape) -> Choices:
    return [{"dim0": 0, "dim1": d} for d in range(1, len(shape))] + [{"dim0": -1, "dim1": -2}]


def _moves(shape: Shape) -> Choices:
    return [
        {"source": 0, "destination": -1},
        {"source": -1, "destination": 0},
        {"source": (0, 1), "destination": (1, 0)},
    ]


def _gaps(shape: Shape) -> Choices:
    return [{"dim": d} for d in (*range(len(shape) + 1), -1)]


def _ones(shape: Shape) -> Choices:
    ones = tuple(d for d, n in enumerate(shape) if n == 1)
    return _unique("dim", [*((d,) for d in ones), ones])


def _spans(shape: Shape) -> Choices:
    last = len(shape) - 1
    return [
        dict(zip(("start_dim", "end_dim"), c, strict=True)) for c in dict.fromkeys([(0, -1), (0, 1), (last - 1, last)])
    ]


def _unspans(shape: Shape) -> Choices:
    named = [(d, n) for d, n in enumerate(shape) if n]
    halves = [{"dim": d, "sizes": (2, n // 2)} for d, n in named if n % 2 == 0 and n > 2]
    return [*[{"dim": d, "sizes": (n, 1)} for d, n in named], *halves, {"dim": named[0][0], "sizes": (1, -1)}]


def _unflatten(j, x, dim, sizes):
    n = x.shape[dim]
    sizes = tuple(n // -np.prod(sizes) if s == -1 else s for s in sizes)
    return j.np.reshape(x, (*x.shape[:dim], *sizes, *x.shape[dim + 1 :]))


def _wider(shape: Shape) -> Choices:
    stretched = [s for s in POOL if s != shape and broadcast(shape, s) == s and small(s)]
    doubled = [(2, *shape)] if growing(2)(shape) else []
    return _unique("shape", [*doubled, *stretched[:4], shape])


def _some_dims(shape: Shape) -> Choices:
    all_dims = tuple(range(len(shape)))
    return _unique("dims", [all_dims, *((d,) for d in all_dims)])


def _rolls(shape: Shape) -> Choices:
    along = [{"shifts": shift, "dims": d} for d in range(len(shape)) for shift in (1, -2)]
    return [*along[:6], {"shifts": 1, "dims": None}]


def _pads(shape: Shape) -> Choices:
    options = [(1, 0), (0, 2), *([(1, -1)] if shape[-1] else []), *([(0, 0, 1, 0)] if len(shape) > 1 else [])]
    return [{"pad": pad, "value": value} for pad in options for value in (0.0, 1.5)][:8]


def _pad(j, x, pad, value):
    config = [(*pad[2 * d : 2 * d + 2], 0) for d in range(len(pad) // 2)]
    return j.lax.pad(x, np.array(value, x.dtype), [*[(0, 0, 0)] * (x.ndim - len(config)), *config[::-1]])


def _borders(shape: Shape) -> Choices:
    return [{"pad": pad, "mode": mode} for mode in ("reflect", "replicate", "circular") for pad in ((1, 1), (0, 1))]


def _bordered(j, x, pad, mode):
    names: dict[str, Any] = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    return picked(j, x, lambda at: np.pad(at, [*[(0, 0)] * (x.ndim - 1), pad], names[mode]))


def _tiles(shape: Shape) -> Choices:
    rank = len(shape)
    options = [(2,), (2, *(1,) * rank), (*(1,) * max(0, rank - 1), 2), (1,) * rank]
    return _unique("dims", options)


def _repeats(shape: Shape) -> Choices:
    return [{"repeats": 2, "dim": d} for d in range(len(shape))]


def _uneven_repeats(shape: Shape) -> Choices:
    return [{"repeats": tuple((start + i) % 3 for i in range(shape[-1])), "dim": -1} for start in (1, 2)]


def _repeat(j, x, repeats, dim):
    return picked(j, x, lambda at: np.repeat(at, repeats, axis=dim))


def _turns(shape: Shape) -> Choices:
    return [{"k": k, "dims": pair} for k in (1, 2, -1) for pair in ((0, 1), (-1, -2))]


def _windows(shape: Shape) -> Choices:
    named = [(d, n) for d, n in enumerate(shape) if n >= 2]
    return [{"dimension": d, "size": 2, "step": step} for d, _ in named for step in (1, 2)][:6]


def _unfold(j, x, dimension, size, step):
    taken = [
        j.lax.slice_in_dim(x, start, start + size, axis=dimension)
        for start in range(0, x.shape[dimension] - size + 1, step)
    ]
    return stacked(j, [j.np.moveaxis(t, dimension, -1) for t in taken], dimension)


def _op(name: str, torch: str, reference, choices, accepts=lambda shape: True, saves: Certainty = NEVER, **more) -> Op:
    return Op(name, torch, reference, saves, choices=choices, **more, **shaped(accepts))


def _view(name: str, torch: str, reference, choices, accepts=lambda shape: True, **more) -> Op:
    return _op(name, torch, reference, choices, accepts, aliases=Certainty.ALWAYS, **more)


def _maybe_view(name: str, torch: str, reference, choices, accepts=lambda shape: True) -> Op:
    """Makes the row of an op whose result may be a view or a copy of the operand, because the documentation does not
    say which.
    """
    return _op(name, torch, reference, choices, accepts, aliases=Certainty.MAYBE)


RESHAPING = (
    _maybe_view("reshape", "torch.reshape({0}, {shape})", lambda j, x, shape: j.np.reshape(x, shape), _shapes),
    _view("permute_dims", "torch.permute({0}, {dims})", lambda j, x, dims: j.np.transpose(x, dims), _orders),
    _view("matrix_transpose", "{0}.mT", lambda j, x: j.np.swapaxes(x, -1, -2), offer(), ranked(2)),
    _view(
        "transpose",
        "torch.transpose({0}, {dim0}, {dim1})",
        lambda j, x, dim0, dim1: j.np.swapaxes(x, dim0, dim1),
        _pairs,
        ranked(2),
    ),
    _view(
        "moveaxis",
        "torch.moveaxis({0}, {source}, {destination})",
        lambda j, x, source, destination: j.np.moveaxis(x, source, destination),
        _moves,
        ranked(2),
    ),
    _view(
        "expand_dims", "torch.unsqueeze({0}, {dim})", lambda j, x, dim: j.np.expand_dims(x, dim), _gaps, ranked(0, 3)
    ),
    _view("squeeze", "torch.squeeze({0}, {dim})", lambda j, x, dim: j.np.squeeze(x, dim), _ones, having(1, 1)),
    _maybe_view("flatten", "torch.flatten({0}, {start_dim}, {end_dim})", _flatten, _spans, ranked(2)),
    _view("unflatten", "torch.unflatten({0}, {dim}, {sizes})", _unflatten, _unspans, every(having(1), ranked(1, 3))),
    _op("clone", "torch.clone({0})", lambda j, x: x, offer()),
)

REORDERING = (
    _op("flip", "torch.flip({0}, {dims})", lambda j, x, dims: j.np.flip(x, dims), _some_dims),
    _maybe_view(
        "roll",
        "torch.roll({0}, {shifts}, {dims})",
        lambda j, x, shifts, dims: picked(j, x, lambda at: np.roll(at, shifts, dims)),
        _rolls,
    ),
    _op(
        "rot90",
        "torch.rot90({0}, {k}, {dims})",
        lambda j, x, k, dims: picked(j, x, lambda at: np.rot90(at, k, dims)),
        _turns,
        ranked(2),
    ),
)

GROWING = (
    _view(
        "broadcast_to",
        "torch.broadcast_to({0}, {shape})",
        lambda j, x, shape: j.np.broadcast_to(x, shape),
        _wider,
        ranked(0, 4),
        overlaps=True,
    ),
    _maybe_view(
        "tile",
        "torch.tile({0}, {dims})",
        lambda j, x, dims: picked(j, x, lambda at: np.tile(at, dims)),
        _tiles,
        every(growing(2), ranked(0, 3)),
    ),
    _op(
        "repeat", "torch.repeat_interleave({0}, {repeats}, dim={dim})", _repeat, _repeats, every(growing(2), ranked(1))
    ),
    _op(
        "repeat_uneven",
        "torch.repeat_interleave({0}, torch.tensor({repeats}, device={0}.device), dim={dim})",
        _repeat,
        _uneven_repeats,
        every(growing(2), ranked(1), nonempty),
        saves=MAYBE,
    ),
    _op("pad", "F.pad({0}, {pad}, value={value})", _pad, _pads, every(growing(3), ranked(1))),
    # PyTorch saves the operand of these paddings only for its shape, but frees it with the graph.
    _op(
        "pad_border",
        "F.pad({0}, {pad}, mode={mode})",
        _bordered,
        _borders,
        every(growing(2), ranked(2, 3), lambda shape: shape[-1] >= 2 and nonempty(shape)),
        saves=MAYBE,
        also_saves=(0,),
    ),
    _view(
        "unfold",
        "{0}.unfold({dimension}, {size}, {step})",
        _unfold,
        _windows,
        every(having(2), nonempty, ranked(1, 4)),
        overlaps=True,
    ),
)

MANIPULATION = table("manipulation", *RESHAPING, *REORDERING, *GROWING)
