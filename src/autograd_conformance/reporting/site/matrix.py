"""The matrix: every rule of every run, by families, with what each framework does."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autograd_conformance.reporting.analysis.summary import ORDER, FamilySummary, RuleSummary
from autograd_conformance.reporting.analysis.verdicts import MEANING_OF
from autograd_conformance.reporting.records.records import RuleRecord
from autograd_conformance.reporting.records.terms import FAILURE_VERDICTS, Verdict
from autograd_conformance.reporting.site.runs import Run


@dataclass(frozen=True, slots=True)
class Sign:
    """How a verdict looks: a sign, the name of its colour, and what it means."""

    text: str
    colour: str
    means: str


SIGNS: dict[Verdict, Sign] = {
    "pass": Sign("✓", "pass", "programs put it to the test, and it held"),
    "fail": Sign("✗", "wrong", "a defect: a program breaks it"),
    "crash": Sign("‼", "wrong", "a defect: a program ended its process"),
    "timeout": Sign("∞", "wrong", "a defect: a program did not come back"),
    "flaky": Sign("≈", "wrong", "a defect: the same program gives different answers"),
    "known difference": Sign("≠", "known", "broken only in ways that the framework's maintainers list, with a reason"),
    "adapter bug": Sign("⚒", "error", "the adapter failed: nothing is said of the framework"),
    "cannot be told": Sign("?", "error", "it went wrong, and nobody can tell whose fault that is"),
    "error": Sign("!", "error", "the test itself went wrong: nothing is said of the framework"),
    "vacuous": Sign("○", "vacuous", "too few programs really tested it: no pass"),
    "not reached": Sign("…", "vacuous", "the run ended before its tests began"),
    "skipped": Sign("↷", "none", "the options of the run left its tests out"),
    "not applicable": Sign("\N{EN DASH}", "none", "the framework does not claim what the rule needs"),
    "info": Sign("i", "none", "told, not judged"),
}
"""Every verdict with its sign, as the legend shows them."""

ABSENT = Sign("·", "absent", "the run's version of the suite does not have this rule, or did not record it")


@dataclass(frozen=True, slots=True)
class Row:
    """A rule and what each run says of it, in the order of the runs; None where a run does not have the rule."""

    rule: RuleRecord
    slug: str
    """The name of its page."""
    cells: tuple[RuleSummary | None, ...]
    latest: tuple[bool, ...]
    """Which of the runs are of the latest version of their framework: a framework is counted once."""

    @property
    def passing(self) -> int:
        """How many of the latest runs pass."""
        return sum(cell.verdict == "pass" for cell in self._latest)

    @property
    def applicable(self) -> int:
        """To how many of the latest runs it applies."""
        return sum(MEANING_OF[cell.verdict].applicable for cell in self._latest)

    @property
    def _latest(self) -> list[RuleSummary]:
        return [cell for cell, last in zip(self.cells, self.latest, strict=True) if cell is not None and last]

    @property
    def verdicts(self) -> set[Verdict]:
        """The verdicts that occur."""
        return {cell.verdict for cell in self.cells if cell is not None}

    @property
    def groups(self) -> list[str]:
        """What the row can be found by: the verdicts, what several of them have in common, and where runs disagree."""
        found: set[str] = set(self.verdicts)
        if found & set(FAILURE_VERDICTS):
            found.add("defect")
        if found & {*FAILURE_VERDICTS, "known difference"}:
            found.add("different")
        decided = found & {*FAILURE_VERDICTS, "known difference", "pass"}
        if "pass" in found and len(decided) > 1:
            found.add("disagreement")
        return sorted(found)


@dataclass(frozen=True, slots=True)
class FamilyCell:
    """What a run says of a family: its total, the verdict that needs attention most, and how many rules have each."""

    family: FamilySummary
    verdict: Verdict
    parts: tuple[tuple[Verdict, int], ...]

    @property
    def about(self) -> str:
        """The total in words."""
        total = self.family.total
        parts = ", ".join(f"{count} {verdict}" for verdict, count in self.parts)
        return f"{total.passed} passed of {total.applicable} applicable of {total.all} rules: {parts}"


@dataclass(frozen=True, slots=True)
class Family:
    """A family of rules with its rows, and what each run says of it as a whole."""

    name: str
    rows: tuple[Row, ...]
    cells: tuple[FamilyCell | None, ...]


def matrix(runs: Sequence[Run], slugs: dict[str, str]) -> tuple[Family, ...]:
    """The families of all runs; the wording of a rule is that of the latest suite, `slugs` are the pages of rules."""
    rules = latest(runs)
    names = dict.fromkeys(rule.family for rule in rules.values())
    return tuple(_family(name, [rule for rule in rules.values() if rule.family == name], runs, slugs) for name in names)


def latest(runs: Iterable[Run]) -> dict[str, RuleRecord]:
    """Every rule by its slug, in the words of the latest run that has it and in that run's order."""
    found: dict[str, RuleRecord] = {}
    for run in sorted(runs, key=lambda run: run.header.started, reverse=True):
        for rule in run.report.rules:
            found.setdefault(rule.rule, rule)
    return found


def violation_bound(exercised: int) -> int | None:
    """A pass in so many programs bounds how often such programs break the rule: fewer than one in this many do, with a
    confidence of 95 per cent; None where there is nothing to be told from.
    """
    return None if exercised < 1 else math.floor(1 / (1 - 0.05 ** (1 / exercised)))


def _family(name: str, rules: Sequence[RuleRecord], runs: Sequence[Run], slugs: dict[str, str]) -> Family:
    latest = tuple(run.latest for run in runs)
    rows = tuple(Row(rule, slugs[rule.rule], tuple(run.rules.get(rule.rule) for run in runs), latest) for rule in rules)
    return Family(name, rows, tuple(_cell(name, run) for run in runs))


def _cell(name: str, run: Run) -> FamilyCell | None:
    family = next((each for each in run.summary.families if each.name == name), None)
    if family is None:
        return None
    verdicts = [each.verdict for each in run.rules.values() if each.rule.family == name]
    judged = [each for each in verdicts if MEANING_OF[each].applicable]
    worst = min(judged or verdicts, key=ORDER.index)
    counts = tuple((verdict, verdicts.count(verdict)) for verdict in SIGNS if verdict in verdicts)
    return FamilyCell(family, worst, counts)
