"""Which dtype an op's results have, and which it may compute in, where its operands have several."""

from __future__ import annotations

from collections.abc import Sequence

from autograd_conformance.ops.rows.row import Certainty, Op
from autograd_conformance.programs.language import Shape

WIDTHS = {"float32": 32, "float64": 64}
"""The dtypes that programs compute in, with how many bits they have."""


def widest(dtypes: Sequence[str]) -> str:
    """The dtype that holds the numbers of all."""
    return max(dtypes, key=WIDTHS.__getitem__)


def narrowest(dtypes: Sequence[str]) -> str:
    """The dtype that rounds most."""
    return min(dtypes, key=WIDTHS.__getitem__)


def result_dtype(op: Op, dtypes: Sequence[str], shapes: Sequence[Shape]) -> str | None:
    """The dtype of an op's results; None where operands have several and frameworks may differ.

    That is where the op does not promote, or where the widest operand is the one that has no dimensions: the dtype of
    such a number counts in NumPy, and does not in PyTorch.
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
    """The narrowest dtype that numbers of an op and of its derivative may have on the way."""
    return widest(dtypes) if op.promotes is Certainty.ALWAYS and op.dtype is None else narrowest(dtypes)
