"""Finds the kinds of writes that a framework does not notice, whatever op needs the value as it was: a step of an
optimizer, or a write in place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from autograd_conformance.reporting.analysis.grouping import OTHER_GRADIENT, ops, steps
from autograd_conformance.reporting.analysis.views import LEAST_OPS
from autograd_conformance.reporting.records.failure import Failure

RULE = "writes/error-or-recorded"
"""The rule that is broken if a write is not noticed."""


def unnoticed_write(failure: Failure) -> str | None:
    """Returns the kind of the writes of a failing program, "step" or "write", if it differentiated with the written
    values; None if there are both kinds, or the failure is of another sort.
    """
    if failure.rule != RULE or failure.deviation is None or not failure.deviation.what.startswith(OTHER_GRADIENT):
        return None
    kinds = {"step", "write"} & {step["do"] for step in steps(failure.program)}
    return kinds.pop() if len(kinds) == 1 else None


def unnoticed_writes(failures: Iterable[Failure]) -> frozenset[str]:
    """Returns the kinds of writes that are not noticed in the programs of at least `LEAST_OPS` single ops."""
    found: dict[str, set[str]] = defaultdict(set)
    for failure in failures:
        kind, used = unnoticed_write(failure), ops(failure.program)
        if kind is not None and len(used) == 1:
            found[kind] |= used
    return frozenset(kind for kind, those in found.items() if len(those) >= LEAST_OPS)
