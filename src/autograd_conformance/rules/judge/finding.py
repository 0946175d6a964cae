"""Findings: a violation, unspecified behaviour, or nothing. A check returns its finding as a value, and `judge` alone
records whether the following instructions are unspecified.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from autograd_conformance.rules.violations.violation import Violation


@dataclass(frozen=True, slots=True)
class Unspecified:
    """The rules do not specify what follows the instruction."""

    violation: Violation | None = None
    """The violation at the instruction itself; None if there is none."""


@dataclass(frozen=True, slots=True)
class End:
    """The instruction violates no rule, and nothing after it can be judged."""

    unspecified: bool
    """Whether judging ends because the rules do not specify what follows, or because results could not be observed; not
    if an earlier error prevented a value.
    """


Finding = Violation | Unspecified | None
"""The finding of a check at an instruction; None if the instruction did as the rules specify."""


def violation_of(finding: Finding) -> Violation | None:
    """Returns the violation in a finding; None if there is none."""
    match finding:
        case Violation() | None:
            return finding
        case Unspecified(violation):
            return violation
        case _:
            assert_never(finding)


def with_violation(finding: Finding, violation: Violation | None) -> Finding:
    """Returns a finding to which the violation of a later check of the instruction is added, unless it has one."""
    match finding:
        case None:
            return violation
        case Unspecified(None):
            return Unspecified(violation)
        case Violation() | Unspecified():
            return finding
        case _:
            assert_never(finding)
