"""Prints one line with the progress of a run: finished rules, programs per second, failures so far, and the estimated
remaining time.

On a terminal the line replaces pytest's dots and is rewritten. Elsewhere it is printed from time to time among the
dots, which have no letter for a skipped test: where few ops are there, nearly all tests are skipped. `-q` and `-v`
switch it off.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest

from autograd_conformance.checking.limits import Limits
from autograd_conformance.plugin.pytest_internals import begin_line, hide_progress, terminal_width
from autograd_conformance.plugin.recording.properties import PROPERTY
from autograd_conformance.plugin.run_plan import PLAN
from autograd_conformance.reporting.prose import counted, duration
from autograd_conformance.reporting.records.encoding import decode
from autograd_conformance.reporting.records.records import Result
from autograd_conformance.reporting.records.terms import FAILURE_VERDICTS

EARLY = 0.05
"""Fraction of the tests that must have ended before the line estimates the remaining time: the first tests say little
about the others.
"""

ON_TERMINAL, ELSEWHERE = 0.2, 30.0
"""Seconds between two updates of the line, on a terminal and elsewhere."""


class Progress:
    """A pytest plugin of the controlling process that prints the progress of the run."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.reporter: pytest.TerminalReporter | None = None
        self.begun: float | None = None
        """Start of the first test, on the monotonic clock. The time before, such as that of checking each op alone,
        does not count for the estimate.
        """
        self.written = time.monotonic()
        self.done: Counter[str] = Counter()
        """Number of finished tests of each rule."""
        self.rules = self.tests = self.rules_done = self.programs = self.failures = 0

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Finds pytest's terminal reporter, and switches off its dots on a terminal."""
        reporter: pytest.TerminalReporter | None = session.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is None or reporter.verbosity != 0:
            return
        self.reporter = reporter
        if reporter.isatty():
            hide_progress(reporter)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Suppresses the letter of a skipped test, and on a terminal, where the progress line replaces the dots, that
        of each test.
        """
        if self.reporter is None or not hasattr(report, "when"):
            return None
        if report.outcome == "skipped" and not hasattr(report, "wasxfail"):
            return "skipped", "", "SKIPPED"
        if self.reporter.isatty() and report.when == "call" and report.outcome in ("passed", "failed"):
            return report.outcome, "", report.outcome.upper()
        return None

    def pytest_runtest_logstart(self) -> None:
        """Notes the start of the first test."""
        self.begun = self.begun or time.monotonic()

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Counts the programs, failures and finished rules in a test's report, and prints the line if enough time has
        passed.
        """
        if self.reporter is None:
            return
        for name, value in report.user_properties:
            if name == PLAN:
                self._ended(value)
            elif name == PROPERTY:
                self._count(decode(value))  # type: ignore[arg-type]
        if report.when == "???":  # of a process that died
            self.failures += 1
        now = time.monotonic()
        if self.rules and now - self.written >= (ON_TERMINAL if self.reporter.isatty() else ELSEWHERE):
            self.written = now
            self._say(self.line(now - (self.begun or now)))

    def _ended(self, plan: Any) -> None:
        if not self.rules:
            self.rules, self.tests = plan["rules"], plan["tests"]
        self.done[plan["rule"]] += 1
        self.rules_done += self.done[plan["rule"]] == plan["of_rule"]

    def _count(self, record: object) -> None:
        match record:
            case Result():
                self.programs += record.programs
                self.failures += record.verdict in FAILURE_VERDICTS
            case _:
                return

    def _say(self, line: str) -> None:
        assert self.reporter is not None
        if self.reporter.isatty():
            self.reporter.rewrite(line[: terminal_width(self.reporter) - 1], erase=True)
        else:
            begin_line(self.reporter)
            self.reporter.write_line(line)

    def line(self, seconds: float) -> str:
        """Returns the progress line after this many seconds of testing."""
        parts = [
            f"{self.rules_done:,} of {counted(self.rules, 'rule')} done",
            f"{counted(self.programs, 'program')}, {self.programs / max(seconds, 1e-9):,.0f} a second",
            counted(self.failures, "failure"),
        ]
        left = self.left(seconds)
        return "; ".join(parts if left is None else [*parts, f"about {duration(left)} left"])

    def left(self, seconds: float) -> float | None:
        """Returns the estimated remaining seconds: at the rate so far, but at most until the deadline. None if it is
        too early for an estimate.
        """
        ended, limit = sum(self.done.values()), self.limits.seconds_left()
        if ended < EARLY * self.tests:
            return limit
        expected = seconds * (self.tests - ended) / ended if ended else 0.0
        return expected if limit is None else min(expected, limit)

    def pytest_sessionfinish(self) -> None:
        """Prints the last line; further output appears below it."""
        if self.reporter is not None and self.reporter.isatty() and self.rules:
            now = time.monotonic()
            self._say(self.line(now - (self.begun or now)))
            self.reporter.write_line("")
