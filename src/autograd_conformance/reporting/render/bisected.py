"""Results of a bisection over versions: a table for the terminal, and a Markdown page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from autograd_conformance.reporting.prose import listed, printable, sentence, shortened
from autograd_conformance.reporting.render.markdown import environment

STYLES = {"bad": "red", "good": "green", "skipped": "yellow", "": "dim"}

UNTRIED = "not tried"
"""Outcome of a version that the search did not need."""


@dataclass(frozen=True, slots=True)
class VersionRow:
    """Result of the finding's program in one version of the framework."""

    label: str
    """Label of the version in the search."""
    outcome: str = ""
    """Bad, good or skipped; empty: not tried."""
    observed: str = ""
    title: str = ""
    """Name and version that the framework itself reports."""


@dataclass(frozen=True, slots=True)
class Bisected:
    """Result of a bisection."""

    finding: str
    """The failure that was searched for."""
    framework: str
    rows: tuple[VersionRow, ...]
    """All versions, the oldest first."""
    changes: tuple[tuple[str, str, bool], ...]
    """For each change: the older version, the newer version, and whether the newer one has the finding."""

    @property
    def answer(self) -> str:
        """The result, as sentences."""
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
        """The versions between two versions."""
        labels = [row.label for row in self.rows]
        return self.rows[labels.index(older) + 1 : labels.index(newer)]

    def _untried_below(self) -> list[VersionRow]:
        """The versions older than the oldest one that ran the program, as far as they were not tried."""
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
    """The page about a search, in GitHub's Markdown."""
    return environment().get_template("bisected.md.j2").render(found=found, untried=UNTRIED).rstrip() + "\n"


def render_all(searches: Sequence[Bisected], missing: str | None) -> str:
    """The page about several searches, in GitHub's Markdown; `missing` names the unfinished ones."""
    template = environment().get_template("searches.md.j2")
    return template.render(searches=searches, missing=missing, untried=UNTRIED).rstrip() + "\n"
