"""Differences between two runs: rules whose verdict, or whose failing ops, changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, assert_never

from autograd_conformance.reporting.analysis.rule_verdicts import RuleSummary
from autograd_conformance.reporting.analysis.summary import summarize
from autograd_conformance.reporting.prose import counted, listed, shortened
from autograd_conformance.reporting.records.records import Report
from autograd_conformance.reporting.records.terms import FAILURE_VERDICTS

Change = Literal["new", "fixed", "changed", "only before", "only after"]


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A rule with different verdicts or failing ops in two runs; `before` or `after` is None if that run does not have
    the rule.
    """

    rule: str
    before: RuleSummary | None
    after: RuleSummary | None

    @property
    def change(self) -> Change:
        """Says how the rule changed from the first run to the second: ``new`` or ``fixed`` (a defect), ``changed``
        (another verdict), ``only before`` or ``only after`` (a rule that only one run has).
        """
        if self.before is None:
            return "only after"
        if self.after is None:
            return "only before"
        was, is_now = self.before.verdict in FAILURE_VERDICTS, self.after.verdict in FAILURE_VERDICTS
        if is_now and (not was or self.ops):
            return "new"
        if was and self.after.verdict == "pass":
            return "fixed"
        return "changed"

    @property
    def ops(self) -> tuple[str, ...]:
        """The ops that break the rule in the second run and not in the first."""
        return tuple(sorted(_failing_ops(self.after) - _failing_ops(self.before)))


@dataclass(frozen=True, slots=True)
class Changes:
    """Two runs and their differences."""

    before: Report
    after: Report
    rules: tuple[RuleChange, ...]
    same: int
    """Number of rules with the same verdict and the same failing ops in both runs."""

    @property
    def other_differences(self) -> tuple[str, ...]:
        """Other differences between the runs (suite, profile, device, ...), which may explain the changes."""
        was, now = self.before.header, self.after.header
        pairs = (
            ("suite", was.suite, now.suite),
            ("framework", was.framework.name, now.framework.name),
            ("profile", was.profile, now.profile),
            ("device", was.device, now.device),
            ("dtypes", listed(was.dtypes), listed(now.dtypes)),
            ("platform", was.platform, now.platform),
        )
        return tuple(f"{name} {shortened(a, 60)} and {shortened(b, 60)}" for name, a, b in pairs if a != b)

    def of(self, change: Change) -> list[RuleChange]:
        """Returns the rules with this kind of change from the first run to the second."""
        return [each for each in self.rules if each.change == change]


def compare(before: Report, after: Report) -> Changes:
    """Compare two runs rule by rule, in the order of the later run."""
    was = {each.rule.rule: each for each in summarize(before).rules}
    now = {each.rule.rule: each for each in summarize(after).rules}
    everything = [RuleChange(rule, was.get(rule), now.get(rule)) for rule in dict.fromkeys((*now, *was))]
    differing = tuple(each for each in everything if _state(each.before) != _state(each.after))
    return Changes(before, after, differing, len(everything) - len(differing))


def lines(changes: Changes) -> Iterator[str]:
    """The changes as lines of text, those that need attention first."""
    yield f"{changes.before.header.framework.title} -> {changes.after.header.framework.title}"
    if changes.other_differences:
        yield f"Note that the runs also differ in: {'; '.join(changes.other_differences)}."
    shown: tuple[Change, ...] = ("new", "fixed", "changed", "only before", "only after")
    for change in shown:
        found = changes.of(change)
        if found:
            yield f"{_heading(change)} ({len(found)}):"
            yield from (f"  {_description(each)}" for each in found)
    yield f"Unchanged: {counted(changes.same, 'rule')}."


def _heading(change: Change) -> str:
    match change:
        case "new":
            return "New defects"
        case "fixed":
            return "Fixed"
        case "changed":
            return "Other changes"
        case "only before":
            return "Rules that only the first run has"
        case "only after":
            return "Rules that only the second run has"
        case _:
            assert_never(change)


def _description(each: RuleChange) -> str:
    if each.before is None or each.after is None:
        only = each.before or each.after
        return f"{each.rule}: {only.verdict if only else ''}"
    ops = f", new failing ops: {listed(each.ops, 5)}" if each.ops and each.before.verdict in FAILURE_VERDICTS else ""
    why = f": {each.after.reason}" if each.after.reason else ""
    return f"{each.rule}: {each.before.verdict} -> {each.after.verdict}{ops}{why}"


def _state(rule: RuleSummary | None) -> tuple[str, frozenset[str]] | None:
    return None if rule is None else (rule.verdict, _failing_ops(rule))


def _failing_ops(rule: RuleSummary | None) -> frozenset[str]:
    """Returns the ops that break a rule, according to those of the rule's failures that are about a single op."""
    return frozenset(failure.op for failure in rule.failures if failure.op is not None) if rule else frozenset()
