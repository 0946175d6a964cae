"""Results of tests whose process ended before it sent the failure that it had found."""

from __future__ import annotations

from autograd_conformance.checking.check import Check
from autograd_conformance.reporting.records.records import Result

UNSENT = "the run ended before the failure was explained, or run again"
"""The reason in the result of a test whose process did not send the failure that it found."""


def unsent(test: str, rule: str, op: str | None, check: Check | None, verdict: str) -> Result:
    """Makes the result of a test whose process found a failure and did not send it."""
    return Result(
        test=test,
        rule=rule,
        op=op,
        verdict=verdict,  # type: ignore[arg-type]
        programs=check.programs if check else 1,
        exercised=dict(check.exercised) if check else {},
        seconds=0.0,
        reason=UNSENT,
    )
