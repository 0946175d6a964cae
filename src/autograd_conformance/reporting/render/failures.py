"""Prints the failures of a run in the terminal: of each of the three worst causes one failure in full and the others by
name, and of each further cause one line.
"""

from __future__ import annotations

import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from autograd_conformance.reporting.analysis.causes import Cause
from autograd_conformance.reporting.analysis.severity import heading
from autograd_conformance.reporting.prose import counted, listed, one_line, printable, shortened
from autograd_conformance.reporting.records.failure import Failure
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
    """Returns the name of a cause's severity, such as ``silently wrong, 3 of 16 digits right``; ``failure`` if the
    severity is unknown.
    """
    return heading(cause.worst)


ON_VIEWS = "a tensor whose elements are not in the order of memory"
"""The operands with which the ops of a cause are wrong, if they are wrong only beside transposed or strided views."""


def cause_meaning(cause: Cause) -> str | None:
    """Returns what is wrong in the words of the suite; None if that is not known."""
    if cause.wrong_on_views:
        return ON_VIEWS
    return cause.shown.signature.meaning if cause.shown.signature else None


def cause_title(cause: Cause) -> str:
    """Title of a cause on one line: the faulty op and the rule that it breaks, or only the rule; the number of ops if
    the cause is common to several.
    """
    failure = cause.shown
    if len(cause.ops) > 1:
        places = f"{failure.rule}, in {counted(len(cause.ops), 'op')}"
        meaning = cause_meaning(cause)
        return f"{meaning} ({places})" if meaning else places
    if cause.op is not None:
        return f"op {one_line(cause.op)} breaks {failure.rule}"
    return failure.rule + (f", op {one_line(failure.op)}" if failure.op else "")


def failing_line(failure: Failure) -> str:
    """Returns the line of code that fails; empty if it is not known."""
    lines = failure.code.splitlines()
    return lines[failure.at].strip() if failure.at is not None and failure.at < len(lines) else ""


def places_text(cause: Cause) -> str:
    """Sentence that names the ops with one cause and the rules that they break; empty if the cause is about one op."""
    if len(cause.ops) < 2:
        return ""
    by_rule: Counter[str] = Counter(failure.rule for failure in cause.failures)
    rules = listed(f"{rule} ({count})" for rule, count in by_rule.most_common())
    return (
        f"It is the same in {counted(len(cause.ops), 'op')}: {listed(map(one_line, cause.ops))}. Broken rules: {rules}."
    )


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
        op = f", op {failure.op}" if failure.op and not places_text(cause) else ""
        by_rule[f"{failure.rule}{op}"].append(short_test_name(failure.test))
    yield ""
    places = places_text(cause)
    if places:
        yield from textwrap.wrap(places, text.WIDTH, break_on_hyphens=False, break_long_words=False)
    yield f"{counted(len(cause.others), 'other failure')} with probably the same cause:"
    for rule, tests in by_rule.items():
        listed = f"  {one_line(rule)}: found by {', '.join(tests)}"
        yield from textwrap.wrap(
            listed, text.WIDTH, subsequent_indent="    ", break_on_hyphens=False, break_long_words=False
        )
