"""What a test has found, as records that travel with pytest's own report of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import errors

from autograd_conformance.frameworks.ended import TimedOut
from autograd_conformance.frameworks.registry import BrokenAdapter
from autograd_conformance.harness.budget import BoundedCheck
from autograd_conformance.harness.check import broken_in, ended_in
from autograd_conformance.harness.failures import alone, noted
from autograd_conformance.harness.failures import record as failures
from autograd_conformance.harness.journal import Entry
from autograd_conformance.harness.known_answers import unsound
from autograd_conformance.harness.plan import PLAN
from autograd_conformance.harness.plugin.state import CHECK, PLANNED, SESSION, about
from autograd_conformance.harness.recorder import ADAPTER, PROPERTY, TALLY, UNWRITABLE
from autograd_conformance.reports import records
from autograd_conformance.reports.encoding import encode
from autograd_conformance.reports.prose import counted
from autograd_conformance.reports.render import text


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    if item.get_closest_marker("rule") is None or SESSION not in item.config.stash:
        return report
    if call.when == "call" or (call.when == "setup" and report.outcome != "passed"):
        try:
            if call.excinfo is not None and isinstance(call.excinfo.value, BrokenAdapter):
                raise call.excinfo.value
            report.user_properties += [(PROPERTY, encode(record)) for record in _records(item, call, report)]
        except BrokenAdapter as error:
            report.longrepr = f"adapter error: {error}"
            report.user_properties.append((ADAPTER, str(error)))
            return report
        check = item.stash.get(CHECK, None)
        if check is not None:
            noted.shorten(check, item.config.stash[SESSION])
            report.user_properties.append((TALLY, check.tally().to_json()))
        if PLANNED in item.stash:
            report.user_properties.append((PLAN, item.stash[PLANNED].to_json(about(item)[0])))
        unwritable = item.config.stash[SESSION].unwritable
        if unwritable:
            report.user_properties.append((UNWRITABLE, unwritable))
    return report


def _records(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> Iterator[records.Record]:
    session, check = item.config.stash[SESSION], item.stash.get(CHECK, None)
    rule, op = about(item)
    verdict, reason = "pass", None
    doubt = unsound() if check is not None else None
    if doubt:  # neither what passed nor what failed here says anything
        verdict, reason = "error", doubt
        report.outcome, report.longrepr = "failed", doubt
    elif isinstance(check, BoundedCheck) and check.cut and report.outcome == "skipped":
        verdict, reason = "cut short", f"the budget of the run ended after {counted(check.programs, 'program')}"
    elif report.outcome == "skipped":
        reason = report.longrepr[2].removeprefix("Skipped: ")  # type: ignore[index]
        verdict = "pass" if check is not None and check.programs else "not applicable"
    elif call.excinfo is not None:
        verdict, reason = "error", call.excinfo.exconly()
        ended = ended_in(call.excinfo.value)
        broken = broken_in(call.excinfo.value) or (check.shortest if check is not None and ended is None else None)
        if broken is not None:
            verdict, reason = "flaky" if isinstance(call.excinfo.value, errors.Flaky) else "fail", None
            past = tuple(session.past)  # what shrinks and explains a failure runs programs, too
            failure = failures.failure(broken, item.nodeid, session, verdict)  # type: ignore[arg-type]
            failure = alone.confirmed(failure, session, past)
            report.longrepr = text.render(failure)
            yield failure
        if ended is not None:
            entry = Entry(item.nodeid, rule, op, ended.program, isinstance(ended, TimedOut))
            failure = failures.died(entry, session, ended.how)
            if isinstance(call.excinfo.value, errors.Flaky):
                failure = replace(failure, verdict="flaky")
            verdict, reason = failure.verdict, failure.observed
            failure = alone.confirmed(failure, session, tuple(session.past))
            report.longrepr = text.render(failure)
            yield failure
    elif check is not None:
        shown = [(known.rule, known.reason) for known in check.differences]
        shown += [(found.about.rule, found.observed) for found in check.findings.values()]
        own = [reason for broken, reason in shown if op is not None or broken == rule]
        if own:  # those of other rules count against these
            verdict, reason = "known difference", "; ".join(own)
        elif check.absent and not check.exercised[rule]:
            verdict, reason = "not applicable", f"no kernel for it: {check.absent.most_common(1)[0][0]}"
    if check is not None and not doubt:
        yield from noted.failures(check, item.nodeid, session)
        verdict = "fail" if verdict == "pass" and rule in check.advice else verdict
    yield records.Result(
        test=item.nodeid,
        rule=rule,
        op=op,
        verdict=verdict,  # type: ignore[arg-type]
        programs=check.programs if check else 0,
        exercised=dict(check.exercised) if check and not doubt else {},
        left_open=check.left_open if check else 0,
        instructions=check.instructions if check else 0,
        judged=check.judged if check else 0,
        seconds=round(call.duration, 3),
        reason=reason,
    )
