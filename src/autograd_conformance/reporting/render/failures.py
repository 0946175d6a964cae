"""Prints the failures of a run in the terminal: of each of the three worst causes one failure in full and the others by
name, and of each further cause one line.
"""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from autograd_conformance.reporting.analysis.causes import Cause
from autograd_conformance.reporting.analysis.severity import NAMES
from autograd_conformance.reporting.prose import counted, one_line, printable, shortened
from autograd_conformance.reporting.render import text

SHOWN_IN_FULL = 3
"""Number of causes, the worst ones, of which the terminal shows one failure in full."""

LINES = 7
"""Number of further causes that get one line each; the page ``report.md`` has a line for each cause."""


def print_failures(causes: tuple[Cause, ...], console: Console, in_full: int = SHOWN_IN_FULL) -> None:
    """Prints the failures, grouped by cause, with the programs of the worst `in_full` causes.

    The rules' sources and the replay commands are printed only if there is a single cause; the page ``report.md`` has
    them for every cause.
    """
    for line in _lines(causes, in_full):
        console.print(Text(printable(line)), soft_wrap=True, highlight=False)


def severity_name(cause: Cause) -> str:
    """Returns the name of a cause's severity, such as ``silently wrong``; ``failure`` if the severity is unknown."""
    return NAMES[cause.severity] if cause.severity else "failure"


def cause_title(cause: Cause) -> str:
    """Title of a cause on one line: the faulty op and the rule that it breaks, or only the rule."""
    failure = cause.shown
    if cause.op is not None:
        return f"op {one_line(cause.op)} breaks {failure.rule}"
    return failure.rule + (f", op {one_line(failure.op)}" if failure.op else "")


def failure_counts(causes: tuple[Cause, ...]) -> str:
    """Counts the failures, and the causes if several failures have one cause: ``5 failures with 2 causes``."""
    failures = sum(len(cause.failures) for cause in causes)
    if failures == len(causes):
        return counted(failures, "failure")
    return f"{counted(failures, 'failure')} with {counted(len(causes), 'cause')}"


def short_test_name(test: str) -> str:
    """Name of a test without its file and the prefix ``test_``."""
    return one_line(test.rpartition("::")[2].removeprefix("test_"))


def _lines(causes: tuple[Cause, ...], in_full: int) -> Iterator[str]:
    if not causes:
        return
    yield ""
    yield f"{failure_counts(causes)}{', the worst first' if len(causes) > 1 else ''}."
    for at, cause in enumerate(causes[:in_full], 1):
        yield ""
        yield f"--- {at}. {severity_name(cause)}: {cause_title(cause)} ".ljust(text.WIDTH, "-")
        yield from text.render(cause.shown, brief=len(causes) > 1).rstrip("\n").split("\n")
        yield from _others(cause)
    if len(causes) > in_full:
        yield ""
    for at, cause in enumerate(causes[in_full : in_full + LINES], in_full + 1):
        more = f" (and {counted(len(cause.others), 'other failure')})" if cause.others else ""
        yield f"--- {at}. {severity_name(cause)}: {cause_title(cause)}: {shortened(cause.shown.observed, 80)}{more}"
    rest = len(causes) - in_full - LINES
    if rest > 0:
        yield f"and {counted(rest, 'more cause')}; the report has a line for each"


def _others(cause: Cause) -> Iterator[str]:
    """Yields lines that name the failures of a cause other than the one printed in full, grouped by rule."""
    if not cause.others:
        return
    by_rule: dict[str, list[str]] = defaultdict(list)
    for failure in cause.others:
        by_rule[f"{failure.rule}{f', op {failure.op}' if failure.op else ''}"].append(short_test_name(failure.test))
    yield ""
    yield f"{counted(len(cause.others), 'other failure')} with probably the same cause:"
    for rule, tests in by_rule.items():
        listed = f"  {one_line(rule)}: found by {', '.join(tests)}"
        yield from textwrap.wrap(
            listed, text.WIDTH, subsequent_indent="    ", break_on_hyphens=False, break_long_words=False
        )
