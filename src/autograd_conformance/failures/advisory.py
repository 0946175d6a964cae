"""Findings that do not make their test fail: violations of SHOULD rules, and new known differences."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_conformance.checking.check import Check
from autograd_conformance.checking.session import ProcessState, Session
from autograd_conformance.failures.case import Case
from autograd_conformance.failures.record import failure
from autograd_conformance.failures.reduce import reduced
from autograd_conformance.known_differences.update import Finding, Signature
from autograd_conformance.reporting.records.failure import Failure

SHARE, LEAST = 0.1, 4.0
"""The share of a limited run's time that reducing the program of one new known difference may take, and the least such
time in seconds."""


def advisory_failures(check: Check, test: str, session: Session) -> Iterator[Failure]:
    """Yields a failure record for each SHOULD rule that a test found broken. A rule is reported in its own test, and in
    the first test of this process that breaks it.
    """
    for rule, broken in check.advice.items():
        if session.process.report_once(rule) or rule == check.rule:
            yield failure(broken, test, session)


def shorten_findings(check: Check, process: ProcessState) -> None:
    """Replaces the program of each new known difference of a test by the smallest program found that shows the
    difference.
    """
    for about, broken in check.found.items():
        small = reduced(Case.of(broken, process.deadline(SHARE, LEAST)), check.known)
        if Signature.of(small.program, small.violation) == about:
            shorter = Finding.of(small.program, small.violation, check.findings[about].left_out, seen=0)
            check.findings[about] = check.findings[about].joined(shorter)
