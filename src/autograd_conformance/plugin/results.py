"""Makes the records of a test, such as its result and its failures, and adds them to pytest's own report of the
test.
"""

from __future__ import annotations

import errno
import unittest
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import pytest
from hypothesis import errors

from autograd_conformance.checking.budget import BoundedCheck
from autograd_conformance.checking.check import Check, RuleViolated, process_end_in, violation_in
from autograd_conformance.checking.known_answers import judge_error
from autograd_conformance.checking.session import Session
from autograd_conformance.checking.skips import NotApplicable, NothingDrawn, WaitsForStage
from autograd_conformance.failures import advisory
from autograd_conformance.failures import record as failures
from autograd_conformance.failures.confirmation import time_limit
from autograd_conformance.failures.interrupted import pending
from autograd_conformance.failures.interrupted.unsent import unsent
from autograd_conformance.failures.members import members
from autograd_conformance.frameworks.environment.process_end import Crashed, TimedOut
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.plugin.demands import stage_name
from autograd_conformance.plugin.recording.properties import ADAPTER, PROPERTY, TALLY, UNDECIDED, UNWRITABLE
from autograd_conformance.plugin.run_plan import PLAN
from autograd_conformance.plugin.stash import CHECK, PLANNED, SESSION
from autograd_conformance.plugin.state import about
from autograd_conformance.processes.child import CLOSED
from autograd_conformance.processes.journal import Entry
from autograd_conformance.programs.foreign.text import harmless, message
from autograd_conformance.reporting.prose import counted
from autograd_conformance.reporting.records import records
from autograd_conformance.reporting.records.encoding import encode
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.terms import FailureVerdict, Outcome
from autograd_conformance.reporting.render import text
from autograd_conformance.rules.stages import stage_of

REPORTED = 10_000
"""Largest number of characters that are kept from each end of an error report that is not plain text."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    raised = call.excinfo and call.excinfo.value  # pytest replaces the exception of a skipped test
    report = yield
    if call.when == "teardown" and SESSION in item.config.stash:  # the failures have been sent
        pending.discard(item.config.stash[SESSION].settings.folder, item.config.stash[SESSION].settings.worker)
    if item.get_closest_marker("rule") is None or SESSION not in item.config.stash:
        return report
    adapter_error = None if call.excinfo is None else _adapter_error(item, call.excinfo.value)
    if adapter_error is not None or call.when == "call" or (call.when == "setup" and report.outcome != "passed"):
        try:
            if adapter_error is not None:
                raise adapter_error
            report.user_properties += [(PROPERTY, encode(record)) for record in _records(item, call, report, raised)]
        except AdapterError as error:
            report.longrepr = f"adapter error: {error}"
            report.user_properties.append((ADAPTER, str(error)))
            return report
        check = item.stash.get(CHECK, None)
        if check is not None:
            advisory.shorten_findings(check, item.config.stash[SESSION].process)
            report.user_properties.append((TALLY, check.tally().to_json()))
        if PLANNED in item.stash:
            report.user_properties.append((PLAN, item.stash[PLANNED].to_json(about(item)[0])))
        unwritable = item.config.stash[SESSION].process.unwritable
        if unwritable:
            report.user_properties.append((UNWRITABLE, unwritable))
        _make_sendable(report)
    return report


def _adapter_error(item: pytest.Item, error: BaseException) -> AdapterError | None:
    """Returns the adapter error in the exception of a test. If pytest fails because the framework closed its files,
    this is one, too, unless the test found a violation before.
    """
    check = item.stash.get(CHECK, None)
    match error:
        case AdapterError():
            return error
        case OSError(errno=errno.EBADF) if check is None or check.shortest is None:
            return AdapterError(f"{item.config.stash[SESSION].settings.name}: {CLOSED}")
        case _:
            return None


def _make_sendable(report: pytest.TestReport) -> None:
    """Escapes a report's text so that other processes and terminals can handle it; a framework may have written parts
    of the text.
    """
    text = str(report.longrepr or "")
    if text.encode(errors="replace").decode() != text:
        report.longrepr = harmless(text, REPORTED)


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist sends it; if it cannot, it ends the worker
def pytest_warning_recorded(warning_message: Any) -> None:
    """Replaces a warning by one of Python's own classes, with a text that other processes can handle. A worker that
    cannot send a warning would end.
    """
    warning = warning_message.message
    if isinstance(warning, Warning):
        own = next(each for each in type(warning).__mro__ if each.__module__ == "builtins")
        warning_message.message, warning_message.category = own(message(warning)), own


def _skipped(raised: BaseException, during: str, programs: int) -> tuple[Outcome, str]:
    """Returns the verdict and the reason of a skipped test. The suite may have skipped it, or a mark or fixture of the
    user; a skip by the framework itself is an error.
    """
    reason = str(raised)
    match raised:
        case NotApplicable():
            return "pass" if programs else "not applicable", reason
        case NothingDrawn():
            return "pass" if programs else "vacuous", reason
        case WaitsForStage():
            return "waiting", reason
        case _ if during == "setup":
            return "skipped", reason
        case _:
            return "error", f"the framework skipped the test: {reason}"


def _doubt(session: Session) -> str | None:
    """Returns a message that says why this process's judge cannot be trusted; None if it can."""
    return judge_error(session.process.count_judge_check())


def _records(
    item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport, raised: BaseException | None
) -> Iterator[records.Record]:
    session, check = item.config.stash[SESSION], item.stash.get(CHECK, None)
    rule, op = about(item)
    verdict: Outcome = "pass"
    reason: str | None = None
    doubt = _doubt(session) if check is not None else None
    if doubt:  # neither passes nor failures are reliable
        verdict, reason = "error", doubt
        report.outcome, report.longrepr = "failed", doubt
    elif isinstance(check, BoundedCheck) and check.cut and report.outcome == "skipped":
        verdict, reason = "cut short", f"the budget of the run ended after {counted(check.programs, 'program')}"
    elif isinstance(raised, (pytest.skip.Exception, unittest.SkipTest)):
        verdict, reason = _skipped(raised, call.when, check.programs if check is not None else 0)
    elif call.excinfo is not None:
        verdict, reason = "error", harmless(call.excinfo.exconly())
        for found in _failures(item, call.excinfo.value, report):
            verdict, reason = found.verdict, found.reason
            yield from filter(None, [found.failure])
    elif check is not None:
        verdict, reason = _without_failure(check, rule, op)
    if check is not None and check.remarks.undecided and verdict in ("pass", "not applicable"):
        error = check.remarks.undecided.most_common(1)[0][0]
        verdict, reason = UNDECIDED, f"an error may be the framework's or the adapter's: {error}"
    if check is not None and not doubt:
        yield from advisory.advisory_failures(check, item.nodeid, session)
        verdict = "fail" if verdict == "pass" and rule in check.advice else verdict
    yield records.Result(
        test=item.nodeid,
        rule=rule,
        op=op,
        verdict=verdict,
        programs=check.programs if check else 0,
        exercised=dict(check.exercised) if check and not doubt else {},
        left_open=check.unspecified if check else 0,
        instructions=check.instructions if check else 0,
        judged=check.judged if check else 0,
        seconds=round(call.duration, 3),
        reason=reason,
        stage=stage_name(item) if stage_name(item) != stage_of(rule).name else None,
    )


class _Found(NamedTuple):
    """The verdict of a test, the reason for it, and the failure to record."""

    verdict: Outcome
    reason: str | None
    failure: Failure | None


def _failures(item: pytest.Item, error: BaseException, report: pytest.TestReport) -> Iterator[_Found]:
    """Yields what the exception of a test contains: a violation, the end of the framework's process, both or nothing.
    Runs each again in a fresh process, to see whether it reproduces.
    """
    check = item.stash.get(CHECK, None)
    ended = process_end_in(error)
    broken = violation_in(error) or (check.shortest if check is not None and ended is None else None)
    if broken is not None:
        yield from _violations(item, broken, "flaky" if isinstance(error, errors.Flaky) else "fail", report)
    if ended is not None:
        yield _process_end(item, ended, isinstance(error, errors.Flaky), report)


def _violations(
    item: pytest.Item, broken: RuleViolated, verdict: Literal["fail", "flaky"], report: pytest.TestReport
) -> Iterator[_Found]:
    """Yields a violation; if it is about two related programs, also that of each program that fails alone, the first of
    which explains why the results differ.
    """
    framework, failure = item.config.stash[SESSION].framework, _violation(item, broken, verdict)
    report.longrepr = text.render(failure)
    yield _Found(verdict, None, failure)
    for number, member in enumerate(members(failure, framework.target, framework.known)):
        alone = _violation(item, member, verdict)
        yield _Found(verdict, None, alone if number else replace(alone, pair=failure.replay))


def _violation(item: pytest.Item, broken: RuleViolated, verdict: Literal["fail", "flaky"]) -> Failure:
    session, past = item.config.stash[SESSION], item.config.stash[SESSION].process.past  # explaining runs programs, too
    failure = failures.failure(broken, item.nodeid, session, verdict)
    _save(item, failure, verdict)
    if not failure.counted:
        return time_limit.confirm(failure, session, past)
    return failure


def _process_end(item: pytest.Item, ended: Crashed | TimedOut, flaky: bool, report: pytest.TestReport) -> _Found:
    session, (rule, op) = item.config.stash[SESSION], about(item)
    entry = Entry(item.nodeid, rule, op, ended.program, isinstance(ended, TimedOut))
    failure = failures.crash_failure(entry, session, ended.how)
    if flaky:
        failure = replace(failure, verdict="flaky")
    verdict, reason = failure.verdict, failure.observed
    status = None if isinstance(ended, TimedOut) else ended.status
    if not time_limit.is_kill(failure, status):
        _save(item, failure, verdict)
    failure, is_undecided = time_limit.confirm_process_end(failure, status, session, session.process.past)
    if is_undecided:
        undecided = time_limit.undecided_text(failure)
        report.outcome = "skipped"
        report.longrepr = (str(item.path), 0, f"{UNDECIDED}: {undecided}")
        return _Found(UNDECIDED, undecided, None)
    report.longrepr = text.render(failure)
    return _Found(verdict, reason, failure)


def _save(item: pytest.Item, failure: Failure, verdict: FailureVerdict) -> None:
    """Writes a failure to a file in the report's folder before it runs again in a fresh process, in case the run ends
    before the failure is sent.
    """
    settings, (rule, op) = item.config.stash[SESSION].settings, about(item)
    later = unsent(item.nodeid, rule, op, item.stash.get(CHECK, None), verdict)
    pending.save(settings.folder, settings.worker, failure, later)


def _without_failure(check: Check, rule: str, op: str | None) -> tuple[Outcome, str | None]:
    """Returns the verdict of a test that did not fail, and the reason for it: "pass", "known difference" or "not
    applicable".
    """
    shown = [(known.rule, known.reason) for known in check.differences]
    shown += [(found.signature.rule, found.observed) for found in check.findings.values()]
    own = [reason for broken, reason in shown if op is not None or broken == rule]
    if own:  # differences of other rules do not qualify this one
        return "known difference", "; ".join(own)
    if check.missing_kernels and not check.exercised[rule]:
        return "not applicable", f"no kernel for it: {check.missing_kernels.most_common(1)[0][0]}"
    return "pass", None
