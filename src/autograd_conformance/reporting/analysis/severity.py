"""Severity of failures: the damage to users of the framework, from silently wrong numbers to layout details."""

from __future__ import annotations

from typing import Literal, get_args

from autograd_conformance.reporting.records.failure import Failure, Severity
from autograd_conformance.reporting.records.terms import Level

Heading = Severity | Literal["imprecise"]
"""Severity under which reports head a failure: a wrong number that is nearly right is *imprecise*."""

SEVERITIES: tuple[Heading, ...] = ("value", "crash", "lost error", "wrong error", "imprecise", "form")
"""All severities, the worst first."""

LEVELS: tuple[Level, ...] = get_args(Level)

UNKNOWN_RANK = SEVERITIES.index("crash")
"""Rank of a crash. Failures without a severity are ranked half a place higher: below silently wrong values, above
everything else.
"""

NAMES: dict[Heading, str] = {
    "value": "silently wrong",
    "crash": "crash or hang",
    "lost error": "error not raised",
    "wrong error": "unexpected error",
    "imprecise": "imprecise",
    "form": "wrong dtype or memory",
}
"""The name of each severity in reports: ``value`` is printed as ``silently wrong``."""

NEAR = 10.0
"""A number that is wrong by at most this many bounds is imprecise."""

FEW = 4.0
"""In a dtype with fewer digits, such as bfloat16, bounds are wide: only the right digits make a number imprecise."""

HALF = 0.5
"""A number with at least this fraction of its dtype's digits right is imprecise."""


def severity(failure: Failure) -> Heading | None:
    """Returns a failure's severity. A record of an older version, which does not state it, is about silently wrong
    values if it has a numerical error or votes; otherwise the severity is None.
    """
    if failure.ends_process:
        return "crash"
    if failure.deviation is not None:
        found: Severity | None = failure.deviation.severity
    else:
        found = "value" if failure.error or failure.votes else None
    return "imprecise" if found == "value" and is_imprecise(failure) else found


def is_imprecise(failure: Failure) -> bool:
    """Whether the numbers of a failure are nearly right: the error is at most `NEAR` bounds, unless the dtype has few
    digits, or at least `HALF` of the dtype's digits are right.
    """
    error = failure.error
    if error is None:
        return False
    enough = error.digits is not None and error.of is not None and error.digits >= HALF * error.of
    return enough or (error.units <= NEAR and not (error.of is not None and error.of < FEW))


def digits_text(failure: Failure) -> str:
    """Says how many digits of a wrong number are right, such as ``3 of 16 digits right``; empty if that is not known or
    the failure is not about numbers.
    """
    error = failure.error
    if severity(failure) not in ("value", "imprecise") or error is None or error.digits is None or error.of is None:
        return ""
    return f"{int(error.digits)} of {int(error.of)} digits right"


def heading(failure: Failure) -> str:
    """Returns the severity of a failure as reports head it, with the number of right digits if the failure is about
    numbers; ``failure`` if the severity is not known.
    """
    found = severity(failure)
    name = NAMES[found] if found else "failure"
    digits = digits_text(failure)
    return f"{name}, {digits}" if digits else name


def rank(failure: Failure) -> tuple[int, float, int]:
    """Returns a sort key that puts the worst failure first: by the level of the broken rule (MUST, SHOULD, INFO), then
    by severity, then by the number of right digits.
    """
    found = severity(failure)
    at = UNKNOWN_RANK - 0.5 if found is None else SEVERITIES.index(found)
    digits = failure.error.digits if failure.error is not None else None
    return LEVELS.index(failure.level), at, int(digits or 0)
