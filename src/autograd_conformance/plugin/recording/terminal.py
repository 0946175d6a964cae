"""The end of a run in pytest's terminal: each cause once, in the place of pytest's list of every failure."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from autograd_conformance.reporting.analysis.causes import causes
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import Record, Report, Result
from autograd_conformance.reporting.records.terms import FAILURE_VERDICTS
from autograd_conformance.reporting.render.failures import SHOWN_IN_FULL, print_failures
from autograd_conformance.reporting.render.terminal import print_summary

WIDTH = 100
"""The columns that a run takes at least."""

USUAL = "fE"
"""What pytest lists at its end where nobody chose (``-r``): failures and errors, a line each."""


def leave_out(report: Any, records: list[Record]) -> None:
    """Keep a test's report out of pytest's list of failures in full where the records tell its failure: it is told with
    its cause. Errors of a test stay in the list, and JUnit's file has all.
    """
    told = any(isinstance(each, Result) and each.verdict in FAILURE_VERDICTS for each in records)
    if told and any(isinstance(each, Failure) for each in records):
        report._pdbshown = True  # pytest's own mark for what the terminal has shown already


def print_end(terminal: Any, report: Report, page: Any) -> None:
    """Print the causes, unless there are to be no tracebacks either, and the run on one screen."""
    width = max(WIDTH, terminal._tw.fullwidth) if terminal.isatty else WIDTH
    console = Console(file=terminal._tw._file, width=width)
    option = terminal.config.option
    told = option.tbstyle != "no"
    if told:
        print_failures(causes(report), console)
    print_summary(report, console, page, above=SHOWN_IN_FULL if told else 0)
    if option.reportchars == USUAL:
        terminal.reportchars = USUAL.replace("f", "")
