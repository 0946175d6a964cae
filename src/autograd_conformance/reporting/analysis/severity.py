"""How bad a failure is: what it costs whoever uses the framework, not how it was found."""

from __future__ import annotations

from typing import get_args

from autograd_conformance.reporting.records.failure import Failure, Severity
from autograd_conformance.reporting.records.terms import Level

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""Every severity, the worst first."""

LEVELS: tuple[Level, ...] = get_args(Level)

UNKNOWN_RANK = SEVERITIES.index("crash")
"""Where failures stand of which records do not say: behind what is known to be silently wrong, before all else."""

NAMES: dict[Severity, str] = {
    "value": "silently wrong",
    "crash": "crash or hang",
    "lost error": "error not raised",
    "wrong error": "wrong error",
    "form": "form",
}
"""Each severity in words."""


def severity(failure: Failure) -> Severity | None:
    """A failure's severity; None where an older record does not say.

    Records that compared numbers are about numbers, whenever they were written.
    """
    if failure.verdict in ("crash", "timeout"):
        return "crash"
    if failure.deviation is not None:
        return failure.deviation.severity
    return "value" if failure.error or failure.votes else None


def rank(failure: Failure) -> tuple[float, int]:
    """What failures are ordered by, the worst first: their severity, then the level of the rule."""
    found = severity(failure)
    at = UNKNOWN_RANK - 0.5 if found is None else SEVERITIES.index(found)
    return at, LEVELS.index(failure.level)
