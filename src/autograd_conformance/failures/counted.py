"""Decides which failures are reduced and explained, one for each cause, and which are only counted; limits the time for
this.
"""

from __future__ import annotations

import time

from autograd_conformance.checking.category import category_of
from autograd_conformance.checking.check import RuleViolated
from autograd_conformance.checking.session import ProcessState, Session
from autograd_conformance.checking.signature import signature_of
from autograd_conformance.failures.variations.confirmed_cause import possible_rules
from autograd_conformance.programs import slugs
from autograd_conformance.programs.language import Program
from autograd_conformance.reporting.analysis.signature_keys import key_of
from autograd_conformance.reporting.records.terms import FailureVerdict
from autograd_conformance.rules.violations.observed import Change, GradientChanged
from autograd_conformance.rules.violations.shared import GradientForm, ResultDtype
from autograd_conformance.rules.violations.violation import Violation

SHARE, LEAST = 0.05, 4.0
"""The share of a limited run's time that each process may take for reducing and explaining failures, one for each
cause, and the least such time in seconds. Running them again in fresh processes takes another such share."""

NEEDED = 1.0
"""Seconds for reducing and explaining a failure whose rule depends on them, if that share of the time is used up."""


def is_counted_only(broken: RuleViolated, session: Session, verdict: FailureVerdict) -> bool:
    """Whether a failure is neither reduced nor explained: a failure with the same cause was, or no time is left. The
    rule that a failure breaks must not depend on that.
    """
    process = session.process
    if possible_rules(broken.violation) != {broken.violation.rule}:
        return False
    return process.deadline(SHARE, LEAST, process.explaining) <= time.monotonic() or is_explained(
        broken, session, verdict
    )


def is_explained(broken: RuleViolated, session: Session, verdict: FailureVerdict) -> bool:
    """Whether a failure with the same cause was explained, and the rule that this one breaks does not depend on an
    explanation.
    """
    violation = broken.violation
    if possible_rules(violation) != {violation.rule}:
        return False
    signature, category = signature_of(broken.program, violation), category_of(violation)
    return session.process.is_explained(key_of(violation.rule, violation.op, verdict, category, signature))


def is_repeated(session: Session, program: Program, violation: Violation) -> bool:
    """Whether a violation is a wrong dtype, or a gradient that a constant received, whose cause this process has
    recorded. Such a violation ends no test of another rule or op: a framework with one such fault shows it in nearly
    all programs.
    """
    category = category_of(violation)
    match violation.observed:
        case ResultDtype() | GradientForm() if category.severity == "form":
            pass
        case GradientChanged(Change.RECEIVED) if violation.rule == slugs.ACCUMULATION_CONSTANT:
            pass
        case _:
            return False
    signature = signature_of(program, violation)
    return session.process.is_recorded(key_of(violation.rule, violation.op, "fail", category, signature))


def deadline(process: ProcessState) -> float:
    """Returns the deadline for reducing and explaining a failure, on the monotonic clock; infinity if the run has no
    time limit.
    """
    least = min(process.deadline(0.0, NEEDED), time.monotonic() + NEEDED)
    return max(process.deadline(SHARE, LEAST, process.explaining), least)
