"""Memory layouts: values that are not contiguous, made by view ops such as `matrix_transpose` and `narrow`.

A cotangent gets its layout from the op applied to a value afterwards. In a framework whose ops copy, all values are
contiguous; the same programs then compute the same values, and the view op is an ordinary op of the graph.
"""

from __future__ import annotations

import typing
from dataclasses import dataclass
from typing import assert_never

from autograd_conformance.programs.language import Attrs, Literal, Shape
from autograd_conformance.programs.own_numpy import np

Layout = typing.Literal["transposed", "permuted", "stepped", "offset", "columns", "reversed", "expanded"]

LAYOUTS: tuple[Layout, ...] = ("transposed", "stepped", "columns", "expanded", "offset", "reversed", "permuted")
"""All memory layouts, those that frameworks most often handle wrongly first."""

LEAST_RANK: dict[Layout, int] = {
    "transposed": 2, "permuted": 3, "stepped": 1, "offset": 1, "columns": 2, "reversed": 1, "expanded": 1,
}  # fmt: skip
"""Smallest number of dimensions of a value in a layout."""

FILLED = 0.625
"""Value of the elements of the base that a view leaves out; any number would do."""


@dataclass(frozen=True, slots=True)
class View:
    """A leaf and the view op that together give a value a layout."""

    base: np.ndarray
    """The leaf's values."""
    op: str
    """The name of the view op, such as "narrow"."""
    attrs: Attrs
    """The op's attributes."""

    @property
    def literal(self) -> Literal:
        """The leaf's values as a literal of a program."""
        return Literal(tuple(self.base.ravel().tolist()), self.base.shape, self.base.dtype.name)


def view(value: np.ndarray, layout: Layout) -> View | None:
    """Returns the leaf and the view op that give a value a layout. None if the value has too few dimensions, or for
    "expanded" no dimension along which all parts are equal.
    """
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
    """Returns a view op that takes all but the first index along a dimension of a larger array, and that array."""
    count = value.shape[dim]
    base = _around(value, dim, count + 1, slice(1, count + 1))
    return View(base, "narrow", (("dim", dim), ("start", 1), ("length", count)))


def _around(value: np.ndarray, dim: int, count: int, taken: slice) -> np.ndarray:
    """Returns an array that contains a value as a slice along a dimension; the other elements are `FILLED`."""
    base = np.full((*value.shape[:dim], count, *value.shape[dim + 1 :]), FILLED, value.dtype)
    base[(*[slice(None)] * dim, taken)] = value
    return base


def _expanded(value: np.ndarray) -> View | None:
    """Returns a view op that repeats one part along the first dimension in which all parts are equal; None if there is
    none.
    """
    for dim, count in enumerate(value.shape):
        first = value.take([0], dim) if count > 1 else None
        if first is not None and np.array_equal(np.broadcast_to(first, value.shape), value):
            return View(first, "broadcast_to", (("shape", value.shape),))
    return None


def equal_along(value: np.ndarray, dim: int) -> np.ndarray:
    """Returns the value with its first part along a dimension repeated in place of all others."""
    return np.broadcast_to(value.take([0], dim), value.shape) if value.shape[dim] else value


def differs_from_contiguous(shape: Shape, layout: Layout) -> bool:
    """Whether a layout places the elements of this shape in memory differently from a contiguous value. Dimensions of
    size one make no difference.
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
    """Returns the op, with its attributes, that gives the cotangent of its operand a layout when backward passes it.
    None if the shape does not allow the layout.
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
