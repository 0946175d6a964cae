"""Limits: restrictions of a framework on the shapes and attributes of an op that the catalogue allows.

A limit is data, so that an adapter in another process can send it. Strategies draw no program outside a limit, and
tests skip fixed programs outside it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from autograd_conformance.ops.rows.row import Choices, Op, takes
from autograd_conformance.programs.language import Attr, Attrs, Shape

ALL = "all"
"""The word for a tuple of all dimensions, among the supported values of an attribute."""


@dataclass(frozen=True)
class Limit:
    """The restrictions of a framework on one op; by default, there are none."""

    attrs: Mapping[str, Collection[Attr]] = field(default_factory=dict)
    """The supported values of each attribute that is restricted. `ALL` means all dimensions of the first
    operand.
    """
    dimensions: Collection[int] | None = None
    """The supported numbers of dimensions of operands; None if all are."""
    empty: bool = True
    """Whether the framework supports the op on operands without elements."""
    broadcasts: bool = True
    """Whether the framework supports the op on operands of different shapes."""

    def outside(self, shapes: Sequence[Shape], attrs: Attrs) -> str | None:
        """Describes why an op on operands of these shapes is outside the limit, as "keepdim=True"; None if it is
        inside.
        """
        for name, value in attrs:
            supported = self.attrs.get(name, (value,))
            if value not in supported and not (ALL in supported and _is_all(value, shapes)):
                return f"{name}={value}"
        if self.dimensions is not None:
            for shape in shapes:
                if len(shape) not in self.dimensions:
                    return f"{len(shape)} dimensions"
        if not self.empty and any(0 in shape for shape in shapes):
            return "no elements"
        if not self.broadcasts and len({*shapes}) > 1:
            return "operands of several shapes"
        return None

    def __str__(self) -> str:
        """The supported cases in words, as "keepdim False; 1 or 2 dimensions; not empty"."""
        parts = [f"{name} {' or '.join(map(str, values))}" for name, values in self.attrs.items()]
        if self.dimensions is not None:
            parts.append(f"{' or '.join(map(str, sorted(self.dimensions)))} dimensions")
        parts += [] if self.empty else ["not empty"]
        parts += [] if self.broadcasts else ["operands of one shape"]
        return "; ".join(parts)


def _is_all(dims: Attr, shapes: Sequence[Shape]) -> bool:
    """Whether an attribute is a tuple of all dimensions of the first operand, in any order, numbered from the first or
    from the last.
    """
    count = len(shapes[0]) if shapes else 0
    is_tuple = isinstance(dims, tuple) and len(dims) == count
    return is_tuple and {each % count for each in dims} == {*range(count)}  # type: ignore[operator,union-attr]


Limits = Mapping[str, Limit]
"""The limits (restrictions of a framework on shapes and attributes) of ops and in-place ops, by name; ops without an
entry are not restricted.
"""


def limited(row: Op, limit: Limit) -> Op:
    """Returns the row of an op, restricted to the shapes and attributes that a framework supports."""

    def accepts(shape: Shape) -> bool:
        return limit.outside((shape,), ()) is None and row.accepts(shape)

    def choices(*shapes: Shape) -> Choices:
        return [choice for choice in row.choices(*shapes) if limit.outside(shapes, tuple(choice.items())) is None]

    made = replace(row, accepts=accepts, fresh=tuple(filter(accepts, row.fresh)), choices=choices)
    return replace(made, fresh=tuple(shape for shape in made.fresh if takes(made, shape)) or made.fresh)


def outside(limits: Limits, op: str, shapes: Sequence[Shape], attrs: Attrs) -> str | None:
    """Describes why a framework does not support an op on operands of these shapes, as "sum with keepdim=True"; None if
    it does.
    """
    problem = limits[op].outside(shapes, attrs) if op in limits else None
    return None if problem is None else f"{op} with {problem}"
