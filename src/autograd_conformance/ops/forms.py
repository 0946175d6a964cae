"""Finds ops that are forms of one function, such as a layer with and without a bias, and the number of dimensions of an
operand without a batch.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from functools import lru_cache

from autograd_conformance.ops.catalogue import ROWS
from autograd_conformance.ops.rows.row import Op, takes

BATCHED = frozenset({
    "cross_entropy", "cross_entropy_soft", "multi_margin_loss", "multilabel_margin_loss", "nll_loss",
    "pixel_shuffle", "pixel_unshuffle",
})  # fmt: skip
"""The ops outside of the families of `BATCHED_FAMILIES` whose first operand may have a batch dimension."""

BATCHED_FAMILIES = frozenset({"convolution", "pooling"})

ONE_DERIVATIVE = frozenset({"normalisation"})
"""The families in which all forms of a function share a derivative, also those with different formulas."""

FORMS = ("_bias", "_three", "_uneven", "_broadcast")
"""Ends of the names of ops that call the function of another op with more operands or other attributes."""

_FUNCTION = re.compile(r"(?:\{0\}\.)?[A-Za-z_][\w.]*(?=\()")


@lru_cache(maxsize=None)
def base_form(op: str) -> str:
    """Returns the first op of the tables that calls the same function and computes the same formula: ``linear`` for
    ``linear_bias``; the op itself if there is no other.
    """
    stem = next((stem for end in FORMS if (stem := op.removesuffix(end)) != op), None)
    if stem in ROWS and _function(stem) == _function(op) is not None:
        return base_form(stem)
    row = ROWS.get(op)
    about = None if row is None else _form(row)
    return op if about is None else next(name for name, each in ROWS.items() if _form(each) == about)


def _function(op: str) -> str | None:
    """Returns the function that an op's code calls; None if the code does not begin with a call."""
    template = ROWS[op].template if op in ROWS else None
    called = _FUNCTION.match(template) if isinstance(template, str) else None
    return called[0] if called else None


def _form(row: Op) -> Hashable:
    """Returns what forms of one function have in common; None if the op's code does not begin with a call."""
    function = _function(row.name)
    return function and (function, row.family if row.family in ONE_DERIVATIVE else row.reference)


@lru_cache(maxsize=None)
def unbatched_rank(op: str) -> int | None:
    """Returns the number of dimensions of an op's first operand without a batch; None if the op takes no batches."""
    row = ROWS.get(op)
    if row is None or (row.family not in BATCHED_FAMILIES and op not in BATCHED):
        return None
    ranks = sorted({len(shape) for shape in row.fresh if takes(row, shape)})
    return ranks[0] if len(ranks) > 1 else None
