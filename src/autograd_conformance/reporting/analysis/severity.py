"""Severity of failures: the damage to users of the framework, from silently wrong numbers to layout details."""

from __future__ import annotations

from typing import get_args

from autograd_conformance.reporting.records.failure import Failure, Severity
from autograd_conformance.reporting.records.terms import Level

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""All severities, the worst first."""

LEVELS: tuple[Level, ...] = get_args(Level)

UNKNOWN_RANK = SEVERITIES.index("crash")
"""Rank of a crash. Failures without a severity are ranked half a place higher: below silently wrong values, above
everything else.
"""

NAMES: dict[Severity, str] = {
    "value": "silently wrong",
    "crash": "crash or hang",
    "lost error": "error not raised",
    "wrong error": "unexpected error",
    "form": "wrong dtype or memory",
}
"""The name of each severity in reports: ``value`` is printed as ``silently wrong``."""


def severity(failure: Failure) -> Severity | None:
    """Returns a failure's severity. A record of an older version, which does not state it, is about silently wrong
    values if it has a numerical error or votes; otherwise the severity is None.
    """
    if failure.verdict in ("crash", "timeout"):
        return "crash"
    if failure.deviation is not None:
        return failure.deviation.severity
    return "value" if failure.error or failure.votes else None


def rank(failure: Failure) -> tuple[float, int]:
    """Returns a sort key that puts the worst failure first: by severity, then by the level of the broken rule (MUST,
    SHOULD, INFO).
    """
    found = severity(failure)
    at = UNKNOWN_RANK - 0.5 if found is None else SEVERITIES.index(found)
    return at, LEVELS.index(failure.level)
