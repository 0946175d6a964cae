"""Prints the end of a run in pytest's terminal: each cause of failures once, instead of pytest's list of all
failures.
"""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from autograd_conformance.plugin.pytest_internals import mark_as_shown, terminal_stream, terminal_width
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import Record, Report, Result
from autograd_conformance.reporting.records.terms import FAILURE_VERDICTS
from autograd_conformance.reporting.render.failures import SHOWN_IN_FULL
from autograd_conformance.reporting.render.terminal import print_summary

WIDTH = 100
"""Smallest width of the printed lines, in columns."""

USUAL = "fE"
"""Pytest's default for `-r`, which prints a line for each failure and error."""


def leave_out(report: pytest.TestReport, records: list[Record]) -> None:
    """Keeps a test's report out of pytest's list of failures if the test's records already describe the failure. Errors
    stay in the list, and JUnit's file has everything.
    """
    is_described = any(isinstance(each, Result) and each.verdict in FAILURE_VERDICTS for each in records)
    if is_described and any(isinstance(each, Failure) for each in records):
        mark_as_shown(report)


def print_end(terminal: pytest.TerminalReporter, report: Report, page: Any) -> None:
    """Prints the summary, with the causes of failures unless `--tb=no` switches them off."""
    width = max(WIDTH, terminal_width(terminal)) if terminal.isatty else WIDTH
    console = Console(file=terminal_stream(terminal), width=width)
    option = terminal.config.option
    is_described = option.tbstyle != "no"
    print_summary(report, console, page, in_full=SHOWN_IN_FULL if is_described else 0, articles=option.articles)
    if option.reportchars == USUAL:
        terminal.reportchars = USUAL.replace("f", "")
