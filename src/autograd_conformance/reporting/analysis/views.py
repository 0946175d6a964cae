"""Finds the ops that are wrong only where the elements of a tensor are not in the order of memory: the kernels of many
ops may read such a tensor as if they were, which is one fault.
"""

from __future__ import annotations

from collections.abc import Iterable

from autograd_conformance.reporting.analysis.grouping import FaultyOps, is_diagnosed
from autograd_conformance.reporting.analysis.program_forms import ops
from autograd_conformance.reporting.analysis.signature_keys import OTHER_GRADIENT, Symptom, symptom_of
from autograd_conformance.reporting.records.failure import Failure

REORDERING = frozenset(
    {
        "broadcast_to",
        "diagonal",
        "matrix_transpose",
        "moveaxis",
        "narrow",
        "permute_dims",
        "select",
        "slice",
        "transpose",
        "unfold",
    }
)
"""Ops that may return a view whose elements are not in the order of memory, or not beside each other."""

LEAST_OPS = 3
"""Least number of ops that are wrong only beside a view of `REORDERING` for this to be one cause. Two ops may have two
faults.
"""


def op_wrong_on_view(failure: Failure, faulty: FaultyOps) -> str | None:
    """Returns the op whose numbers, or whose gradient's shape, are wrong in a program with one of the views of
    `REORDERING`, and in no program without other ops; None if no single op is known, or the failure has another
    explanation.
    """
    used = ops(failure.program)
    if not _is_about_numbers(symptom_of(failure)) or is_diagnosed(failure) or not used & REORDERING:
        return None
    rest = frozenset(failure.cured) - REORDERING or used - REORDERING
    if len(rest) != 1:
        return None
    (op,) = rest
    return None if any(op == other and _is_about_numbers(symptom) for other, symptom in faulty) else op


def _is_about_numbers(symptom: Symptom) -> bool:
    """Whether a symptom is a wrong value, or a gradient that is wrong or has a wrong shape."""
    _, category = symptom
    what = "" if isinstance(category, str) else category.what
    return what in ("other value", "form of a gradient") or what.startswith(OTHER_GRADIENT)


def ops_wrong_on_views(failures: Iterable[Failure], faulty: FaultyOps) -> frozenset[str]:
    """Returns the ops that are wrong only where a tensor's elements are not in the order of memory; empty if these are
    fewer than `LEAST_OPS`.
    """
    found = {op for failure in failures if (op := op_wrong_on_view(failure, faulty)) is not None}
    return frozenset(found) if len(found) >= LEAST_OPS else frozenset()
