"""Results of a bisection, which searches for the version of a framework that began or ended a failure: a table for the
terminal, and a Markdown page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from autograd_conformance.reporting.prose import listed, printable, sentence, shortened
from autograd_conformance.reporting.render.markdown import environment

STYLES = {"bad": "red", "good": "green", "skipped": "yellow", "": "dim"}

UNTRIED = "not tried"
"""Text in place of the outcome of a version in which the search did not run the program."""


@dataclass(frozen=True, slots=True)
class VersionRow:
    """Result of running the failing program in one version of the framework."""

    label: str
    """Label of the version, such as ``2.3.1``."""
    outcome: str = ""
    """``bad`` if the version has the failure, ``good`` if not, ``skipped`` if it cannot run the program; empty if not
    tried.
    """
    observed: str = ""
    title: str = ""
    """Name and version that the framework itself reports."""


@dataclass(frozen=True, slots=True)
class Bisected:
    """Result of a bisection over the versions of a framework: the outcome of each version, and the changes between
    versions.
    """

    finding: str
    """Title of the failure for whose beginning or end the bisection searched."""
    framework: str
    rows: tuple[VersionRow, ...]
    """All versions, the oldest first."""
    changes: tuple[tuple[str, str, bool], ...]
    """For each change between two versions: the label of the older one, the label of the newer one, and whether the
    newer one has the failure.
    """

    @property
    def answer(self) -> str:
        """The result as sentences: ``First bad: 2.3.1, last good: 2.2.0.``"""
        decided = [row for row in self.rows if row.outcome in ("bad", "good")]
        if self.changes:
            return sentence(". ".join(self._change(*each) for each in self.changes))
        if not decided:
            result = "None of the tried versions can run the program."
        elif decided[0].outcome == "bad":
            result = f"All tried versions that can run the program fail; {decided[0].label} is the oldest of them."
        else:
            result = "No tried version that can run the program fails."
        older = [row.label for row in self._untried_below()]
        more = f" Not tried, because a newer version cannot run it: {listed(older, 8)}." if older else ""
        return result + more

    @property
    def is_decided(self) -> bool:
        """Whether some version ran the program, and every change is between two consecutive versions."""
        runs = any(row.outcome in ("bad", "good") for row in self.rows)
        return runs and not any(self.between(older, newer) for older, newer, _ in self.changes)

    def _change(self, older: str, newer: str, began: bool) -> str:
        result = f"First bad: {newer}, last good: {older}" if began else f"Last bad: {older}, first good: {newer}"
        between = [row.label for row in self.between(older, newer)]
        return result + (f" (undecided between them: {listed(between, 8)})" if between else "")

    def between(self, older: str, newer: str) -> tuple[VersionRow, ...]:
        """Returns the versions strictly between two versions, given by label."""
        labels = [row.label for row in self.rows]
        return self.rows[labels.index(older) + 1 : labels.index(newer)]

    def _untried_below(self) -> list[VersionRow]:
        """Returns the versions that were not tried and are older than the oldest version that ran the program."""
        oldest = next((at for at, row in enumerate(self.rows) if row.outcome in ("bad", "good")), 0)
        return [row for row in self.rows[:oldest] if not row.outcome]


def table(found: Bisected) -> Table:
    """Table of the versions for a terminal."""
    shown = Table(box=None, highlight=False)
    for name in ("version", "is", "", "observed"):
        shown.add_column(name, overflow="fold")
    for row in found.rows:
        outcome = Text(row.outcome or UNTRIED, style=STYLES[row.outcome])
        shown.add_row(Text(printable(row.label)), Text(printable(row.title)), outcome, Text(shortened(row.observed)))
    return shown


def render(found: Bisected) -> str:
    """Returns the page about one bisection, in GitHub's Markdown."""
    return environment().get_template("bisected.md.j2").render(found=found, untried=UNTRIED).rstrip() + "\n"


def render_all(searches: Sequence[Bisected], missing: str | None) -> str:
    """Returns the page about several bisections, in GitHub's Markdown; `missing` names the unfinished ones."""
    template = environment().get_template("searches.md.j2")
    return template.render(searches=searches, missing=missing, untried=UNTRIED).rstrip() + "\n"
