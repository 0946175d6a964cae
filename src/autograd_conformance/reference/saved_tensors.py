"""Which values a derivative depends on, and which may have been saved for it: what a later write may make it miss."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.ops.rows.row import RESULTS, Certainty
from autograd_conformance.programs.language import Attrs, Shape
from autograd_conformance.reference.staging.derivatives import KEPT, staged_vjp
from autograd_conformance.reference.staging.vjp import RecordedOp, Vjp, base_op


@lru_cache(maxsize=KEPT)
def needs(op: RecordedOp, attrs: Attrs, shapes: tuple[Shape, ...], requires: tuple[bool, ...]) -> frozenset[int]:
    """The operands whose values the vector-Jacobian product with respect to those that require grad depends on.

    An implementation that saves a result in their place, as it may, depends on that result instead; where nothing is
    needed, no result is, either. Operands are given by their positions.
    """
    reads = staged_vjp(op, attrs, shapes).reads
    wanted = (read for read, required in zip(reads, requires, strict=True) if required)
    return frozenset(k for read in wanted for k in read if k < len(shapes))


class Saved(NamedTuple):
    """What may be saved: operands, by their positions, and whether results."""

    operands: frozenset[int]
    results: bool


@lru_cache(maxsize=KEPT)
def may_save(op: RecordedOp, attrs: Attrs, shapes: tuple[Shape, ...], requires: tuple[bool, ...]) -> Saved:
    """What a framework may have saved: what is needed, and what the op's row says besides.

    Writing to it later may be refused; where it is not, the gradient is that of the recorded values all the same.
    """
    if not any(requires):
        return Saved(frozenset(), False)
    row = row_of(base_op(op))
    everything = Saved(frozenset(range(len(shapes))), True)
    if row.saves is not Certainty.NEVER:
        if any(0 in shape for shape in shapes):
            return everything  # no value depends on what has no elements; frameworks save it like any other
        if isinstance(op, Vjp):
            return everything  # what its backward pass saves is not in an op's row
    operands = needs(op, attrs, shapes, requires)
    also = frozenset(k for k in row.also_saves if 0 <= k < len(shapes))
    return Saved(operands | also, bool(operands) or RESULTS in row.also_saves)
