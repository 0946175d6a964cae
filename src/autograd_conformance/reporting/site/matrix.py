"""The matrix of the site: the verdict of every run on every rule, grouped by family."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autograd_conformance.reporting.analysis.rule_verdicts import ORDER, RuleSummary
from autograd_conformance.reporting.analysis.summary import FamilySummary
from autograd_conformance.reporting.analysis.verdicts import MEANING_OF
from autograd_conformance.reporting.records.records import RuleRecord
from autograd_conformance.reporting.records.terms import FAILURE_VERDICTS, Verdict
from autograd_conformance.reporting.site.runs import Run


@dataclass(frozen=True, slots=True)
class Sign:
    """Presentation of a verdict: a sign, the name of its colour, and its meaning."""

    text: str
    colour: str
    means: str


SIGNS: dict[Verdict, Sign] = {
    "pass": Sign("✓", "pass", "enough programs exercised the rule, and none broke it"),
    "fail": Sign("✗", "wrong", "a defect: a program breaks the rule"),
    "crash": Sign("‼", "wrong", "a defect: a program crashed the process"),
    "timeout": Sign("∞", "wrong", "a defect: a program did not finish in time"),
    "flaky": Sign("≈", "wrong", "a defect: the same program failed once and passed once"),
    "known difference": Sign("≠", "known", "broken only by known differences, which are listed with a reason"),
    "adapter bug": Sign("⚒", "error", "the adapter failed: no verdict on the framework"),
    "cannot be told": Sign("?", "error", "an error that may be the framework's or somebody else's"),
    "error": Sign("!", "error", "the test itself failed: no verdict on the framework"),
    "vacuous": Sign("○", "vacuous", "too few programs exercised the rule: not a pass"),
    "not reached": Sign("…", "vacuous", "the run ended before the rule's tests began"),
    "waiting": Sign("⧖", "vacuous", "a stage that the rule's tests need is wholly broken"),
    "skipped": Sign("↷", "none", "options of the run left the rule's tests out"),
    "not applicable": Sign("\N{EN DASH}", "none", "the framework does not claim the capabilities that the rule needs"),
    "info": Sign("i", "none", "reported, not judged"),
}
"""Sign of each verdict, in the order of the legend."""

ABSENT = Sign("·", "absent", "the run has no record of this rule: its version of the suite may not have it")


@dataclass(frozen=True, slots=True)
class Row:
    """A rule with the verdict of each run."""

    rule: RuleRecord
    slug: str
    """File name of the rule's page."""
    cells: tuple[RuleSummary | None, ...]
    """Verdict of each run; None if a run does not have the rule."""
    latest: tuple[bool, ...]
    """For each run, whether it is of the latest version of its framework; only such runs are counted in `passing` and
    `applicable`.
    """

    @property
    def passing(self) -> int:
        """Number of runs of the latest version of any framework in which the rule passed."""
        return sum(cell.verdict == "pass" for cell in self._latest)

    @property
    def applicable(self) -> int:
        """Number of runs of the latest version of any framework in which the rule applies."""
        return sum(MEANING_OF[cell.verdict].applicable for cell in self._latest)

    @property
    def _latest(self) -> list[RuleSummary]:
        return [cell for cell, last in zip(self.cells, self.latest, strict=True) if cell is not None and last]

    @property
    def verdicts(self) -> set[Verdict]:
        """All verdicts on the rule in any of the runs."""
        return {cell.verdict for cell in self.cells if cell is not None}

    @property
    def groups(self) -> list[str]:
        """Values of the page's filter that match the row: the verdicts on the rule, and ``defect`` (a run fails),
        ``different`` (a run fails or has a known difference) or ``disagreement`` (and another run passes).
        """
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
    """Verdict of a run on a family: its total, the most important verdict, and the number of rules with each."""

    family: FamilySummary
    verdict: Verdict
    parts: tuple[tuple[Verdict, int], ...]

    @property
    def about(self) -> str:
        """Says in words how many of the family's rules passed, and how many have each verdict."""
        must, should = self.family.must, self.family.should
        passed = [
            f"{each.ratio} {level} rules" for each, level in ((must, "MUST"), (should, "SHOULD")) if each.applicable
        ]
        parts = ", ".join(f"{count} {verdict}" for verdict, count in self.parts)
        return f"{' and '.join(passed) or 'no rule'} passed: {parts}"


@dataclass(frozen=True, slots=True)
class Family:
    """A family of rules, with a row for each rule and a cell for each run."""

    name: str
    rows: tuple[Row, ...]
    cells: tuple[FamilyCell | None, ...]


def matrix(runs: Sequence[Run], slugs: dict[str, str]) -> tuple[Family, ...]:
    """The families of all runs; `slugs` has the file name of each rule's page.

    If versions of the suite word a rule differently, the latest wording is used.
    """
    rules = latest(runs)
    names = dict.fromkeys(rule.family for rule in rules.values())
    return tuple(_family(name, [rule for rule in rules.values() if rule.family == name], runs, slugs) for name in names)


def latest(runs: Iterable[Run]) -> dict[str, RuleRecord]:
    """All rules by slug, each with the wording of the latest run that has it, in the order of the latest run."""
    found: dict[str, RuleRecord] = {}
    for run in sorted(runs, key=lambda run: run.header.started, reverse=True):
        for rule in run.report.rules:
            found.setdefault(rule.rule, rule)
    return found


def violation_bound(exercised: int) -> int | None:
    """Returns a bound on the rate of violations of a rule, given the number of programs that exercised the rule without
    breaking it.

    With a confidence of 95 %, fewer than one in this many programs break the rule. None without programs.
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
