"""What a test noted and did not fail for: rules that are no more than advice, and differences that become known."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_conformance.checking.check import Check
from autograd_conformance.checking.session import Session
from autograd_conformance.failures.record import REDUCTION_LEAST, REDUCTION_SHARE, failure
from autograd_conformance.failures.reduce import reduced
from autograd_conformance.known_differences.update import Finding, Signature
from autograd_conformance.reporting.records.failure import Failure


def advisory_failures(check: Check, test: str, session: Session) -> Iterator[Failure]:
    """The records of SHOULD rules that are broken: in the rule's own test, and where this process saw it first."""
    for rule, broken in check.advice.items():
        if rule == check.rule or rule not in session.noted:
            session.noted.add(rule)
            yield failure(broken, test, session)


def shorten_findings(check: Check, session: Session) -> None:
    """Give each difference that becomes known the smallest program that shows it."""
    for about, broken in check.found.items():
        small = reduced(broken, session.known, until=session.until(REDUCTION_SHARE, REDUCTION_LEAST))
        if Signature.of(small.program, small.violation) == about:
            shorter = Finding.of(small.program, small.violation, check.findings[about].left_out, seen=0)
            check.findings[about] = check.findings[about].joined(shorter)
