"""Summary of a run: the verdicts on rules, families, ops and the framework, derived from its records.

A failure counts against the rule that it breaks, whichever test found it. A rule is exercised by the programs of all
tests. A test that went wrong without a failure record counts against its own rule. A known difference is neither a
failure nor a pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never

from autograd_conformance.reporting.analysis.causes import Cause, causes
from autograd_conformance.reporting.analysis.conclusion import conclude
from autograd_conformance.reporting.analysis.differences import Entry, entries, observed_differences
from autograd_conformance.reporting.analysis.op_verdicts import OpSummary, op_summaries
from autograd_conformance.reporting.analysis.rule_verdicts import RuleSummary, complete, rule_summary
from autograd_conformance.reporting.analysis.stages import StageSummary, climb, stage_summaries
from autograd_conformance.reporting.analysis.verdicts import MEANING_OF, Exit
from autograd_conformance.reporting.prose import counted, shortened
from autograd_conformance.reporting.records.records import Footer, Report, Result
from autograd_conformance.reporting.records.terms import FAILURE_VERDICTS, Conclusion


@dataclass(frozen=True, slots=True)
class Total:
    """Numbers of rules that passed, that apply to the framework, and of all rules, written as ``120 / 131 / 140``."""

    passed: int
    applicable: int
    all: int

    def __str__(self) -> str:
        return f"{self.passed} / {self.applicable} / {self.all}"

    @property
    def ratio(self) -> str:
        """How many rules passed, of those that apply, such as ``105 of 118``; a dash if none applies."""
        return f"{self.passed} of {self.applicable}" if self.applicable else "-"


@dataclass(frozen=True, slots=True)
class FamilySummary:
    """Numbers for a family of rules: rules that passed, programs that the tests of these rules ran, failures, and the
    fraction of instructions that were judged.
    """

    name: str
    total: Total
    """Numbers of the family's MUST and SHOULD rules that passed, that apply, and of all."""
    must: Total
    """The same numbers of its MUST rules alone."""
    should: Total
    """The same numbers of its SHOULD rules alone."""
    programs: int
    """Number of programs that the tests of the family ran."""
    failures: int
    judged: float | None
    """Fraction of the instructions of the family's programs that were judged against the rules; None if the records do
    not say.
    """


@dataclass(frozen=True, slots=True)
class Summary:
    """Summary of a run: its conclusion and all verdicts."""

    conclusion: Conclusion
    sentence: str
    """The reasons for the conclusion, as sentences that do not repeat it."""
    total: Total
    """Numbers of all MUST and SHOULD rules that passed, that apply, and of all; INFO rules are not judged."""
    must: Total
    """The same numbers of the MUST rules alone, which the conclusion is about."""
    should: Total
    """The same numbers of the SHOULD rules alone."""
    rules: tuple[RuleSummary, ...]
    families: tuple[FamilySummary, ...]
    ops: tuple[OpSummary, ...]
    known: tuple[Entry, ...]
    causes: tuple[Cause, ...]
    programs: int
    unspecified: int
    """Number of programs that used a value which the rules leave unspecified, so that what depends on that value was
    not judged.
    """
    judged: float | None
    """Fraction of the instructions of all programs that were judged against the rules; None if the records do
    not say.
    """
    seconds: float | None
    stages: tuple[StageSummary, ...] = ()
    """Summary of each stage of the run; empty if the records have none."""
    climb: str = ""
    """Sentence that says how far the run got, if it was ended early or found a broken stage; else empty."""

    @property
    def rate(self) -> float | None:
        """Programs per second over the whole run; None if the duration is not known."""
        return self.programs / self.seconds if self.seconds else None


def summarize(report: Report) -> Summary:
    """Derive all verdicts from a report's records."""
    differences = observed_differences(report)
    rules = tuple(rule_summary(rule, report, differences) for rule in report.rules)
    conclusion, sentence = conclude(report, rules)
    found = causes(report)
    stages = stage_summaries(report, ((each.rule.rule, each.rule.level, each.verdict) for each in rules), found)
    return Summary(
        conclusion,
        sentence,
        _total(rules),
        *_levels(rules),
        rules,
        tuple(_family(name, rules, report) for name in dict.fromkeys(rule.family for rule in report.rules)),
        op_summaries(report, differences),
        entries(report),
        found,
        report.programs,
        sum(result.left_open for result in report.results),
        _judged(report.results),
        report.footer.seconds if report.footer else None,
        stages,
        climb(stages) if not complete(report) or any(each.is_broken for each in stages) else "",
    )


def exit_code(summary: Summary, footer: Footer, status: int) -> int:
    """Returns the exit code of a finished run, given its conclusion and pytest's own exit `status`.

    Pytest's status is kept if the run was stopped, or if a test failed that is not part of the suite.
    """
    if status not in (Exit.PASSED, Exit.NOT_CONFORMANT, Exit.NOTHING_SELECTED):
        return status
    match summary.conclusion:
        case "not conformant":
            return Exit.NOT_CONFORMANT
        case "no verdict" if footer.verdict != "complete":
            return Exit.STOPPED
        case "no verdict":
            return Exit.NOTHING_SELECTED if status == Exit.NOTHING_SELECTED else Exit.NO_VERDICT
        case "conformant" | "conformant with known differences" | "selection passed":
            return status
        case _:
            assert_never(summary.conclusion)


def incomplete_notice(report: Report) -> str:
    """Says in one line why a run is incomplete: ``CUT SHORT: ...``, ``INTERRUPTED: ...`` or ``TRUNCATED: ...``."""
    footer = report.footer
    if footer is None:
        return "TRUNCATED: the run was killed before it could finish. The report covers the tests that had finished."
    reason = shortened(footer.reason or "the run was stopped before its end")
    if footer.verdict == "cut short":
        ended = sum(result.verdict == "cut short" for result in report.results)
        fewer = f" {counted(ended, 'test')} ran fewer programs than planned." if ended else ""
        return f"CUT SHORT: {reason}.{fewer}"
    missing = f" {counted(footer.not_run, 'test')} did not run." if footer.not_run else ""
    return f"INTERRUPTED: {reason}.{missing} The report covers the tests that had finished."


def applies(family: FamilySummary) -> bool:
    """Whether a family has a MUST or SHOULD rule that applies to the framework, or a failure."""
    return bool(family.total.applicable or family.failures)


def failing_ops(summary: Summary) -> tuple[OpSummary, ...]:
    """Returns the ops that some test found wrong, with a verdict such as *fail* or *crash*."""
    return tuple(each for each in summary.ops if each.verdict in FAILURE_VERDICTS)


def differing_ops(summary: Summary) -> tuple[OpSummary, ...]:
    """Returns the ops that differ from the rules only in ways that the list of known differences names."""
    return tuple(each for each in summary.ops if each.verdict == "known difference")


def _total(rules: Iterable[RuleSummary]) -> Total:
    judged = [MEANING_OF[each.verdict] for each in rules]
    return Total(
        sum(each.passed for each in judged), sum(each.applicable for each in judged), sum(each.all for each in judged)
    )


def _levels(rules: Iterable[RuleSummary]) -> tuple[Total, Total]:
    """Returns the numbers of the MUST rules and of the SHOULD rules."""
    must, should = (
        [each for each in rules if each.rule.level == "MUST"],
        [each for each in rules if each.rule.level == "SHOULD"],
    )
    return _total(must), _total(should)


def _family(name: str, rules: Iterable[RuleSummary], report: Report) -> FamilySummary:
    members = [each for each in rules if each.rule.family == name]
    slugs = {each.rule.rule for each in members}
    results = [result for result in report.results if result.rule in slugs]
    programs, failures = sum(result.programs for result in results), sum(len(each.failures) for each in members)
    return FamilySummary(name, _total(members), *_levels(members), programs, failures, _judged(results))


def _judged(results: Sequence[Result]) -> float | None:
    """Returns the fraction of the instructions of some tests' programs that were judged; None if no instruction was
    counted.
    """
    instructions = sum(result.instructions for result in results)
    return sum(result.judged for result in results) / instructions if instructions else None
