"""The progress line: its content, where it is written, and pytest's unchanged output without it."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from autograd_conformance.checking.limits import UNLIMITED, Limits
from autograd_conformance.plugin.processes.progress import Progress
from autograd_conformance.plugin.recording.properties import PROPERTY
from autograd_conformance.plugin.run_plan import PLAN, Plan
from autograd_conformance.reporting.records.encoding import encode
from autograd_conformance.reporting.records.records import Result
from tests.plugin.test_cli import ROOT, command

pytestmark = pytest.mark.slow


ACCUMULATION = "suites/test_accumulation.py"


class Reporter:
    """The part of pytest's reporter that the line uses."""

    verbosity = 0

    def __init__(self) -> None:
        self.lines: list[str] = []

    def isatty(self) -> bool:
        return False

    @property
    def _tw(self) -> Reporter:
        return self

    width_of_current_line = 3

    def line(self) -> None:
        self.lines.append("")

    def write_line(self, line: str) -> None:
        self.lines.append(line)


def reported(progress: Progress, plan: Plan, rule: str, verdict: str, programs: int) -> None:
    result = Result(test=rule, rule=rule, verdict=verdict, programs=programs, seconds=1.0)  # type: ignore[arg-type]
    progress.pytest_runtest_logreport(
        pytest.TestReport(
            nodeid=rule, location=("", None, ""), keywords={}, outcome="passed", longrepr=None, when="call",
            user_properties=[(PROPERTY, encode(result)), (PLAN, plan.to_json(rule))],
        )
    )  # fmt: skip


def test_the_line_counts_rules_programs_failures_and_what_is_left():
    progress, plan = Progress(UNLIMITED), Plan.of(["a", "a", "b", "c"], 0)
    progress.reporter = Reporter()
    reported(progress, plan, "a", "pass", 60)
    assert progress.line(10) == "0 of 3 rules done; 60 programs, 6 a second; 0 failures; about 30 s left"
    reported(progress, plan, "a", "fail", 1_140)
    assert progress.line(100) == "1 of 3 rules done; 1,200 programs, 12 a second; 1 failure; about 1 min 40 s left"
    reported(progress, plan, "b", "crash", 1)
    reported(progress, plan, "c", "pass", 1)
    assert progress.line(10).startswith("3 of 3 rules done; 1,202 programs, 120 a second; 2 failures; about 0 s")


@pytest.mark.parametrize(("outcome", "letter"), [("skipped", ""), ("passed", None), ("failed", None)])
def test_only_skipped_tests_have_no_letter_where_there_is_no_terminal(outcome: Any, letter: str | None):
    progress = Progress(UNLIMITED)
    report = pytest.TestReport("a", ("", None, ""), {}, outcome=outcome, longrepr=None, when="call")
    assert progress.pytest_report_teststatus(report) is None, "with -q and -v, all letters are pytest's"
    progress.reporter = Reporter()  # type: ignore[assignment]
    shown = progress.pytest_report_teststatus(report)
    assert (shown and shown[1]) == letter


def test_a_limit_says_how_long_it_takes_at_most():

    progress = Progress(Limits(deadline=time.monotonic() + 5))
    progress.reporter = Reporter()
    reported(progress, Plan.of(["a"] * 1_000, 0), "a", "pass", 60)
    assert progress.line(100).endswith("about 5 s left")


def test_the_first_tests_of_many_are_no_reason_for_an_estimate():
    progress, plan = Progress(UNLIMITED), Plan.of(["a"] * 1_000, 0)
    progress.reporter = Reporter()
    reported(progress, plan, "a", "pass", 1)
    assert progress.line(60) == "0 of 1 rule done; 1 program, 0 a second; 0 failures"
    for _ in range(50):
        reported(progress, plan, "a", "pass", 60)
    assert progress.line(60).endswith("about 18 min 36 s left")


def test_where_there_is_no_terminal_it_is_a_line_now_and_then():
    progress, plan = Progress(UNLIMITED), Plan.of(["a", "b"], 0)
    progress.reporter = reporter = Reporter()
    reported(progress, plan, "a", "pass", 60)
    assert reporter.lines == []
    progress.written -= 31
    reported(progress, plan, "b", "pass", 60)
    assert len(reporter.lines) == 2
    assert reporter.lines[1].startswith("2 of 2 rules done; 120 programs, ")


def on_a_terminal(folder: Path, *arguments: str) -> str:
    words, environment = command(folder, *arguments)
    controls, terminal = pty.openpty()
    environment |= {"TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(words, cwd=ROOT, env=environment, stdout=terminal, stderr=terminal) as process:
        os.close(terminal)
        said = b""
        while True:
            try:
                piece = os.read(controls, 4096)
            except OSError:  # nobody has the other end any more
                break
            if not piece:
                break
            said += piece
    os.close(controls)
    assert process.returncode == 0, said.decode()
    return said.decode()


@pytest.mark.parametrize("workers", ["0", "1"])
def test_on_a_terminal_it_is_one_line_that_is_rewritten(workers, tmp_path: Path):
    said = on_a_terminal(tmp_path, ACCUMULATION, "-n", workers)
    lines = [line for line in said.split("\r") if " rules done; " in line]
    assert len(lines) > 2
    assert lines[-1].startswith("12 of 12 rules done; ")
    assert not any("\n" in line.rstrip() for line in lines[:-1])
    assert "[100%]" not in said, "pytest's own dots are not between"


def test_named_tests_and_quiet_runs_are_pytests_own(tmp_path: Path):
    verbose = on_a_terminal(tmp_path, ACCUMULATION, "-v")
    assert "rules done" not in verbose
    assert re.search(r"PASSED\S* \S*::test_adds", verbose)
    assert "[100%]" in verbose
    quiet = on_a_terminal(tmp_path, ACCUMULATION, "-q")
    assert "rules done" not in quiet
