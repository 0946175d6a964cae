"""Computes which dtype an op's results and intermediate numbers have if the op's operands have several dtypes."""

from __future__ import annotations

from collections.abc import Sequence

from autograd_conformance.ops.rows.row import Certainty, Op
from autograd_conformance.programs.dtypes import narrowest, widest
from autograd_conformance.programs.language import Shape


def result_dtype(op: Op, dtypes: Sequence[str], shapes: Sequence[Shape]) -> str | None:
    """The dtype of an op's results; None if operands have several dtypes and frameworks may differ.

    They may differ if the op does not promote, or if the widest operand is the one without dimensions: NumPy includes
    the dtype of such an operand, and PyTorch ignores it.
    """
    if op.dtype is not None:
        return op.dtype
    if len({*dtypes}) == 1:
        return dtypes[0]
    if op.promotes is Certainty.NEVER:
        return None
    ranked = [dtype for dtype, shape in zip(dtypes, shapes, strict=True) if shape]
    found = widest(dtypes)
    return found if not ranked or found == widest(ranked) else None


def precision(op: Op, dtypes: Sequence[str]) -> str:
    """The narrowest dtype that intermediate numbers of an op and of its derivative may have."""
    return widest(dtypes) if op.promotes is Certainty.ALWAYS and op.dtype is None else narrowest(dtypes)
