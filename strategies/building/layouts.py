"""Layouts: values that lie in memory otherwise than one after another, made by an op that gives such a view.

A cotangent gets a layout from what the graph does behind a value. A framework whose ops copy has no layouts; there the
same programs compute the same, and the op that would give the view stands in the graph as any other.
"""

from __future__ import annotations

import typing
from dataclasses import dataclass
from typing import assert_never

from autograd_conformance.programs.language import Attrs, Literal, Shape
from autograd_conformance.programs.own_numpy import np

Layout = typing.Literal["transposed", "permuted", "stepped", "offset", "columns", "reversed", "expanded"]

LAYOUTS: tuple[Layout, ...] = ("transposed", "stepped", "columns", "expanded", "offset", "reversed", "permuted")
"""Every layout, those that frameworks get wrong most easily first."""

LEAST_RANK: dict[Layout, int] = {
    "transposed": 2, "permuted": 3, "stepped": 1, "offset": 1, "columns": 2, "reversed": 1, "expanded": 1,
}  # fmt: skip
"""How many dimensions a value of a layout has at least."""

FILLED = 0.625
"""What lies between the elements that a view takes: any number will do."""


@dataclass(frozen=True, slots=True)
class View:
    """How a value comes to lie as it does."""

    base: np.ndarray
    """What a leaf holds."""
    op: str
    """The op that makes the value of it."""
    attrs: Attrs
    """The op's attributes."""

    @property
    def literal(self) -> Literal:
        """What a leaf holds, as programs write it."""
        return Literal(tuple(self.base.ravel().tolist()), self.base.shape, self.base.dtype.name)


def view(value: np.ndarray, layout: Layout) -> View | None:
    """How a value comes to lie in a layout; None where it has too few dimensions, or no equal parts to expand."""
    if value.ndim < LEAST_RANK[layout]:
        return None
    match layout:
        case "transposed":
            return View(value.swapaxes(-1, -2), "matrix_transpose", ())
        case "permuted":
            return View(value.transpose(), "permute_dims", (("dims", tuple(reversed(range(value.ndim)))),))
        case "stepped":
            count = 2 * value.shape[0]
            base = _around(value, 0, count, slice(0, count, 2))
            return View(base, "slice", (("start", 0), ("stop", count), ("step", 2)))
        case "offset":
            return _narrow(value, 0)
        case "columns":
            return _narrow(value, value.ndim - 1)
        case "reversed":
            dims = tuple(range(value.ndim))
            return View(np.flip(value, dims), "flip", (("dims", dims),))
        case "expanded":
            return _expanded(value)
        case _:
            assert_never(layout)


def _narrow(value: np.ndarray, dim: int) -> View:
    """All but the first along a dimension of something longer."""
    count = value.shape[dim]
    base = _around(value, dim, count + 1, slice(1, count + 1))
    return View(base, "narrow", (("dim", dim), ("start", 1), ("length", count)))


def _around(value: np.ndarray, dim: int, count: int, taken: slice) -> np.ndarray:
    """An array of which a value is a part along a dimension."""
    base = np.full((*value.shape[:dim], count, *value.shape[dim + 1 :]), FILLED, value.dtype)
    base[(*[slice(None)] * dim, taken)] = value
    return base


def _expanded(value: np.ndarray) -> View | None:
    """One place for several elements, along the first dimension in which they are equal."""
    for dim, count in enumerate(value.shape):
        first = value.take([0], dim) if count > 1 else None
        if first is not None and np.array_equal(np.broadcast_to(first, value.shape), value):
            return View(first, "broadcast_to", (("shape", value.shape),))
    return None


def equal_along(value: np.ndarray, dim: int) -> np.ndarray:
    """The first of a value's parts along a dimension, in the place of all of them."""
    return np.broadcast_to(value.take([0], dim), value.shape) if value.shape[dim] else value


def differs_from_contiguous(shape: Shape, layout: Layout) -> bool:
    """Whether a value of some shape lies otherwise in a layout than one element after another: not where dimensions of
    size one leave nothing to see.
    """
    if len(shape) < LEAST_RANK[layout] or 0 in shape:
        return False
    wide = [dim for dim, count in enumerate(shape) if count > 1]
    match layout:
        case "transposed":
            return {len(shape) - 1, len(shape) - 2} <= {*wide}
        case "permuted":
            return len(wide) > 1
        case "columns":
            return any(dim < len(shape) - 1 for dim in wide)
        case "stepped" | "offset" | "expanded":
            return 0 in wide
        case "reversed":
            return bool(wide)
        case _:
            assert_never(layout)


def downstream_op(shape: Shape, layout: Layout) -> tuple[str, Attrs] | None:
    """An op, with its attributes, behind which the cotangent of a value of some shape lies in a layout; None where its
    shape does not allow it.
    """
    if len(shape) < LEAST_RANK[layout]:
        return None
    match layout:
        case "transposed":
            return "matrix_transpose", ()
        case "permuted":
            return "permute_dims", (("dims", tuple(reversed(range(len(shape))))),)
        case "stepped":
            return "slice", (("start", 0), ("stop", shape[0]), ("step", 2))
        case "offset":
            return "narrow", (("dim", 0), ("start", shape[0] // 2), ("length", shape[0] - shape[0] // 2))
        case "columns":
            last = len(shape) - 1
            return "narrow", (("dim", last), ("start", 0), ("length", max(0, shape[last] - 1)))
        case "reversed":
            return "flip", (("dims", tuple(range(len(shape)))),)
        case "expanded":
            return "sum", (("dim", (0,)), ("keepdim", False))
        case _:
            assert_never(layout)
