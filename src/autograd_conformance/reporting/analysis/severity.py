"""Severity of failures: the damage to users of the framework, from silently wrong numbers to layout details."""

from __future__ import annotations

from typing import get_args

from autograd_conformance.reporting.records.failure import Failure, Severity
from autograd_conformance.reporting.records.terms import Level

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""All severities, the worst first."""

LEVELS: tuple[Level, ...] = get_args(Level)

UNKNOWN_RANK = SEVERITIES.index("crash")
"""Rank of failures without a severity: below silently wrong values, above everything else."""

NAMES: dict[Severity, str] = {
    "value": "silently wrong",
    "crash": "crash or hang",
    "lost error": "error not raised",
    "wrong error": "wrong error",
    "form": "form",
}
"""Names of the severities in reports."""


def severity(failure: Failure) -> Severity | None:
    """A failure's severity; None if its record is of an older version and does not say.

    A record of any version that has a numerical error or votes is about values.
    """
    if failure.verdict in ("crash", "timeout"):
        return "crash"
    if failure.deviation is not None:
        return failure.deviation.severity
    return "value" if failure.error or failure.votes else None


def rank(failure: Failure) -> tuple[float, int]:
    """Sort key of failures, the worst first: severity, then level of the rule."""
    found = severity(failure)
    at = UNKNOWN_RANK - 0.5 if found is None else SEVERITIES.index(found)
    return at, LEVELS.index(failure.level)
