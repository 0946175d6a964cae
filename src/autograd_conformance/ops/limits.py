"""What of an op, or of a write, a framework takes, where that is not all that the catalogue has of it.

A limit is data, so that it goes over the wire as well: programs outside it are not drawn, and fixed ones are left out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from autograd_conformance.ops.rows.row import Choices, Op
from autograd_conformance.programs.language import Attr, Attrs, Shape


@dataclass(frozen=True)
class Limit:
    """What of an op a framework takes; what is not named here has no limit."""

    attrs: Mapping[str, Collection[Attr]] = field(default_factory=dict)
    """The values that it takes of each attribute named here."""
    dimensions: Collection[int] | None = None
    """How many dimensions operands may have; None where any number will do."""
    empty: bool = True
    """Whether operands may have no elements."""
    broadcasts: bool = True
    """Whether operands may differ in shape."""

    def outside(self, shapes: Sequence[Shape], attrs: Attrs) -> str | None:
        """What of an op on operands of these shapes is beyond the limit, in words; None where nothing is."""
        for name, value in attrs:
            if name in self.attrs and value not in self.attrs[name]:
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
        """What it takes, in words: "keepdim False; 1 or 2 dimensions; not empty"."""
        parts = [f"{name} {' or '.join(map(str, values))}" for name, values in self.attrs.items()]
        if self.dimensions is not None:
            parts.append(f"{' or '.join(map(str, sorted(self.dimensions)))} dimensions")
        parts += [] if self.empty else ["not empty"]
        parts += [] if self.broadcasts else ["operands of one shape"]
        return "; ".join(parts)


Limits = Mapping[str, Limit]
"""The limits of ops and writes, by name; others have none."""


def limited(row: Op, limit: Limit) -> Op:
    """The row of an op as a framework with a limit has it: shapes and attributes beyond it are not among its own."""

    def accepts(shape: Shape) -> bool:
        return limit.outside((shape,), ()) is None and row.accepts(shape)

    def choices(*shapes: Shape) -> Choices:
        return [choice for choice in row.choices(*shapes) if limit.outside(shapes, tuple(choice.items())) is None]

    return replace(row, accepts=accepts, fresh=tuple(filter(accepts, row.fresh)), choices=choices)


def outside(limits: Limits, op: str, shapes: Sequence[Shape], attrs: Attrs) -> str | None:
    """What of an op on operands of these shapes a framework does not take, in words; None where it takes all."""
    beyond = limits[op].outside(shapes, attrs) if op in limits else None
    return None if beyond is None else f"{op} with {beyond}"
