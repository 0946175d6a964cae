"""In which version a finding began: a table for the terminal, and a Markdown page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table
from rich.text import Text

from autograd_conformance.reporting.prose import listed, printable, sentence, shortened
from autograd_conformance.reporting.render.markdown import environment

STYLES = {"bad": "red", "good": "green", "skipped": "yellow", "": "dim"}

UNTRIED = "not tried"
"""What is said of a version that was not needed."""


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version, what came of the finding's program in it, what was observed, and what the framework calls itself."""

    label: str
    outcome: str = ""
    """Bad, good or skipped; empty: it was not tried."""
    observed: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Bisected:
    """What a search came to."""

    finding: str
    """What was looked for."""
    framework: str
    rows: tuple[VersionRow, ...]
    """Every version, the oldest first."""
    changes: tuple[tuple[str, str, bool], ...]
    """The older and the newer version of each change, and whether the newer one has the finding."""

    @property
    def answer(self) -> str:
        """The answer, in sentences."""
        telling = [row for row in self.rows if row.outcome in ("bad", "good")]
        if self.changes:
            return sentence(". ".join(self._change(*each) for each in self.changes))
        if not telling:
            said = "No version that was tried can run it."
        elif telling[0].outcome == "bad":
            said = f"It is there in each version that was tried and runs it; {telling[0].label} is the oldest of them."
        else:
            said = "It is in no version that was tried and runs it."
        older = [row.label for row in self._untried_below()]
        more = f" Not tried, for a newer one cannot run it: {listed(older, 8)}." if older else ""
        return said + more

    @property
    def is_decided(self) -> bool:
        """Whether a version ran the program, and each change lies between two versions next to each other."""
        runs = any(row.outcome in ("bad", "good") for row in self.rows)
        return runs and not any(self.between(older, newer) for older, newer, _ in self.changes)

    def _change(self, older: str, newer: str, began: bool) -> str:
        said = f"First bad: {newer}, last good: {older}" if began else f"Last bad: {older}, first good: {newer}"
        between = [row.label for row in self.between(older, newer)]
        return said + (f" (between them {listed(between, 8)} cannot tell)" if between else "")

    def between(self, older: str, newer: str) -> tuple[VersionRow, ...]:
        """The versions that stand between two."""
        labels = [row.label for row in self.rows]
        return self.rows[labels.index(older) + 1 : labels.index(newer)]

    def _untried_below(self) -> list[VersionRow]:
        """The versions that were not tried though nothing is known of any older one that runs the program."""
        oldest = next((at for at, row in enumerate(self.rows) if row.outcome in ("bad", "good")), 0)
        return [row for row in self.rows[:oldest] if not row.outcome]


def table(found: Bisected) -> Table:
    """The table for a terminal."""
    shown = Table(box=None, highlight=False)
    for name in ("version", "is", "", "observed"):
        shown.add_column(name, overflow="fold")
    for row in found.rows:
        outcome = Text(row.outcome or UNTRIED, style=STYLES[row.outcome])
        shown.add_row(Text(printable(row.label)), Text(printable(row.title)), outcome, Text(shortened(row.observed)))
    return shown


def render(found: Bisected) -> str:
    """The page, in GitHub's Markdown, ending in a line end."""
    return environment().get_template("bisected.md.j2").render(found=found, untried=UNTRIED).rstrip() + "\n"


def render_all(searches: Sequence[Bisected], missing: str | None) -> str:
    """The page about several searches, as of one; `missing` says what is not done."""
    template = environment().get_template("searches.md.j2")
    return template.render(searches=searches, missing=missing, untried=UNTRIED).rstrip() + "\n"
