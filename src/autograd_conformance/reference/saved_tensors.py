"""Finds the values on which an op's derivative depends, and the values that a framework may save for that derivative. A
later in-place write to a saved value may invalidate the derivative.
"""

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
    """Returns the positions of those operands on whose values the vector-Jacobian product depends; only gradients of
    operands that require grad count.

    A framework may save a result instead of operands, and then depends on that result. If no operand is needed, no
    result is, either.
    """
    reads = staged_vjp(op, attrs, shapes).reads
    wanted = (read for read, required in zip(reads, requires, strict=True) if required)
    return frozenset(k for read in wanted for k in read if k < len(shapes))


class Saved(NamedTuple):
    """Values that a framework may save for an op's derivative: positions of operands, and whether results may be
    saved.
    """

    operands: frozenset[int]
    results: bool


@lru_cache(maxsize=KEPT)
def may_save(op: RecordedOp, attrs: Attrs, shapes: tuple[Shape, ...], requires: tuple[bool, ...]) -> Saved:
    """Returns the values that a framework may have saved: those on which the derivative depends, and those that the
    op's row in the op table lists in addition.

    If an op always saves, but its derivative depends on nothing for these shapes, it may have saved everything.

    A later write to one of them may be refused. If it is not, the gradient must still be that of the recorded values.
    """
    if not any(requires):
        return Saved(frozenset(), False)
    row = row_of(base_op(op))
    everything = Saved(frozenset(range(len(shapes))), True)
    if row.saves is not Certainty.NEVER:
        if any(0 in shape for shape in shapes):
            return everything  # empty operands affect no value, and frameworks still save them
        if isinstance(op, Vjp):
            return everything  # an op's row does not list what its backward pass saves
    operands = needs(op, attrs, shapes, requires)
    if not operands and not row.also_saves and row.saving(requires) is Certainty.ALWAYS:
        return everything  # the derivative is a constant for these shapes alone, as for a matrix of one element
    also = frozenset(k for k in row.also_saves if 0 <= k < len(shapes))
    return Saved(operands | also, bool(operands) or RESULTS in row.also_saves)
