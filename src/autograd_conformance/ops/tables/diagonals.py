"""Diagonals and triangles of matrices: removed elements get a zero gradient, extracted elements get theirs."""

from __future__ import annotations

from autograd_conformance.ops.rows.row import LARGEST, Certainty, Choices, Op, table
from autograd_conformance.ops.rows.selection import picked, placed, put
from autograd_conformance.ops.rows.shapes import every, nonempty, ranked, shaped, size
from autograd_conformance.programs.language import Shape
from autograd_conformance.programs.own_numpy import np


def _diagonals(shape: Shape) -> Choices:
    return [{"diagonal": k} for k in (0, 1, -1)]


def _offsets(*shapes: Shape) -> Choices:
    rows, columns = shapes[0][-2:]
    return [{"offset": 0}, *([{"offset": 1}] if columns > 1 else []), *([{"offset": -1}] if rows > 1 else [])]


def _diagonal_shape(first: Shape) -> list[tuple[Shape, ...]]:
    return [((*first[:-2], min(first[-2:])),)]


def _triangle(j, x, keep):
    return j.np.where(keep(np.ones(x.shape[-2:], bool)), x, 0.0)


def _diagonal(offset: int):
    return lambda at: np.diagonal(at, offset, -2, -1)


def _embedded(j, x, offset):
    n = x.shape[-1] + abs(offset)
    return placed(j, x, _diagonal(offset), (*x.shape[:-1], n, n))


def _room(shape: Shape) -> bool:
    """Whether matrices with this shape's last dimension as a diagonal, above or below the main one, have at most
    `LARGEST` elements.
    """
    return size(shape[:-1]) * (shape[-1] + 1) ** 2 <= LARGEST


def _op(name: str, torch: str, reference, choices, accepts, **more) -> Op:
    return Op(name, torch, reference, Certainty.NEVER, choices=choices, **more, **shaped(accepts))


DIAGONALS = table(
    "diagonals",
    _op(
        "tril",
        "torch.tril({0}, {diagonal})",
        lambda j, x, diagonal: _triangle(j, x, lambda m: np.tril(m, diagonal)),
        _diagonals,
        ranked(2),
    ),
    _op(
        "triu",
        "torch.triu({0}, {diagonal})",
        lambda j, x, diagonal: _triangle(j, x, lambda m: np.triu(m, diagonal)),
        _diagonals,
        ranked(2),
    ),
    _op(
        "diagonal",
        "torch.diagonal({0}, {offset}, -2, -1)",
        lambda j, x, offset: picked(j, x, _diagonal(offset)),
        _offsets,
        every(ranked(2), nonempty),
        aliases=Certainty.ALWAYS,
    ),
    _op(
        "diag_embed",
        "torch.diag_embed({0}, {offset})",
        _embedded,
        lambda shape: [{"offset": k} for k in (0, 1, -1)],
        every(ranked(1, 2), _room),
    ),
    _op(
        "trace",
        "torch.trace({0})",
        lambda j, x: j.np.sum(picked(j, x, np.diagonal)),
        lambda shape: ({},),
        every(ranked(2, 2), nonempty),
    ),
    _op(
        "diagonal_scatter",
        "torch.diagonal_scatter({0}, {1})",
        lambda j, x, source: put(j, x, source, _diagonal(0)),
        lambda *shapes: ({},),
        every(ranked(2, 2), nonempty),
        rest=_diagonal_shape,
    ),
)
