"""Summary of a run: the verdicts on rules, families, ops and the framework, derived from its records.

A failure counts against the rule that it breaks, whichever test found it. A rule is exercised by the programs of all
tests. A test that went wrong without a failure record counts against its own rule. A known difference is neither a
failure nor a pass.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never, get_args

from autograd_conformance.reporting.analysis.causes import Cause, cause_number, causes
from autograd_conformance.reporting.analysis.differences import (
    Difference,
    Entry,
    entries,
    observed_count,
    observed_differences,
)
from autograd_conformance.reporting.analysis.stages import StageSummary, climb, stage_summaries
from autograd_conformance.reporting.analysis.verdicts import MEANING_OF, THRESHOLD, VERDICTS, Exit
from autograd_conformance.reporting.prose import counted, listed, shortened
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import Footer, Report, Result, RuleRecord
from autograd_conformance.reporting.records.terms import FAILURE_VERDICTS, INCONCLUSIVE, Conclusion, Level, Verdict

ORDER: tuple[Verdict, ...] = tuple(each.verdict for each in VERDICTS if each.verdict in get_args(Verdict))  # type: ignore[misc]
"""All verdicts on rules, in the order in which they need attention, from ``fail`` to ``pass``."""

DIFFERING: tuple[Verdict, ...] = (*FAILURE_VERDICTS, "known difference")
"""The verdicts on rules or ops that mean that the framework was observed to break a rule, known differences
included.
"""


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
class RuleSummary:
    """Verdict on a rule, with its failures, the number of programs that exercised it, and the reason if not a pass."""

    rule: RuleRecord
    verdict: Verdict
    exercised: int
    failures: tuple[Failure, ...] = ()
    reason: str | None = None


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
class OpSummary:
    """Verdict on an op over all tests of that op, with the number of these tests' programs, and the reason if not a
    pass.
    """

    op: str
    verdict: Verdict
    programs: int
    reason: str | None = None


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
    rules = tuple(_rule(rule, report, differences) for rule in report.rules)
    conclusion, sentence = _conclude(report, rules)
    found = causes(report)
    stages = stage_summaries(report, ((each.rule.rule, each.rule.level, each.verdict) for each in rules), found)
    return Summary(
        conclusion,
        sentence,
        _total(rules),
        *_levels(rules),
        rules,
        tuple(_family(name, rules, report) for name in dict.fromkeys(rule.family for rule in report.rules)),
        _ops(report, differences),
        entries(report),
        found,
        report.programs,
        sum(result.left_open for result in report.results),
        _judged(report.results),
        report.footer.seconds if report.footer else None,
        stages,
        climb(stages) if not complete(report) or any(each.is_broken for each in stages) else "",
    )


def complete(report: Report) -> bool:
    """Whether the run of a report finished; False if it was interrupted, out of budget or killed."""
    return report.footer is not None and report.footer.verdict == "complete"


def selected(report: Report) -> bool:
    """Whether only a part of the suites ran in a report's run, because options or a plugin left tests out."""
    footer = report.footer
    chosen = footer is not None and (footer.selection or footer.deselected > 0)
    return chosen or any(result.verdict == "skipped" for result in report.results)


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


def by_attention(rules: Iterable[RuleSummary]) -> list[RuleSummary]:
    """Sorts rules by need for attention, failures first and passes last; within a verdict MUST rules come before SHOULD
    and INFO rules.
    """
    levels = get_args(Level)
    return sorted(rules, key=lambda each: (ORDER.index(each.verdict), levels.index(each.rule.level)))


def applies(family: FamilySummary) -> bool:
    """Whether a family has a MUST or SHOULD rule that applies to the framework, or a failure."""
    return bool(family.total.applicable or family.failures)


def numbered_reason(rule: RuleSummary, found: tuple[Cause, ...], shown: int = 0) -> str:
    """The reason why a rule did not pass, with the numbers of its causes if the run has several causes.

    If all causes of the rule's failures are among the first `shown`, which were printed in full above, returns only the
    numbers of the causes and the count of the failures.
    """
    numbers = sorted({cause_number(failure, found) for failure in rule.failures})
    which = f"{'cause' if len(numbers) == 1 else 'causes'} {listed(map(str, numbers), 10)}" if len(found) > 1 else ""
    if not numbers or not which:
        return rule.reason or ""
    if numbers[-1] <= shown:
        return f"{which}, {counted(len(rule.failures), 'failure')}"
    return f"{which}: {rule.reason}"


def failing_ops(summary: Summary) -> tuple[OpSummary, ...]:
    """Returns the ops that some test found wrong, with a verdict such as *fail* or *crash*."""
    return tuple(each for each in summary.ops if each.verdict in FAILURE_VERDICTS)


def differing_ops(summary: Summary) -> tuple[OpSummary, ...]:
    """Returns the ops that differ from the rules only in ways that the list of known differences names."""
    return tuple(each for each in summary.ops if each.verdict == "known difference")


def _rule(rule: RuleRecord, report: Report, differences: Iterable[Difference]) -> RuleSummary:
    exercised = sum(result.exercised.get(rule.rule, 0) for result in report.results)
    failures = tuple(failure for failure in report.failures if failure.rule == rule.rule)
    own = [result for result in report.results if result.rule == rule.rule]
    known = [difference for difference in differences if difference.rule == rule.rule]
    verdict, reason = _judge(rule, exercised, failures, _unexplained(own, report.failures), known, own, report)
    return RuleSummary(rule, verdict, exercised, failures, reason)


def _judge(
    rule: RuleRecord,
    exercised: int,
    failures: tuple[Failure, ...],
    unexplained: list[Result],
    known: list[Difference],
    own: list[Result],
    report: Report,
) -> tuple[Verdict, str | None]:
    if rule.level == "INFO":
        return "info", None
    if failures:  # first, because a missing capability must not hide an observed failure
        worst = min(failures, key=lambda each: FAILURE_VERDICTS.index(each.verdict))
        more = f" (the first of {counted(len(failures), 'failure')})" if len(failures) > 1 else ""
        where = f"{worst.op}: " if worst.op else ""
        return worst.verdict, where + shortened(worst.diagnosis or worst.observed) + more
    missing = [need for need in rule.needs if need not in report.header.framework.capabilities]
    if (missing or rule.absent) and not known:
        unclaimed = f"not claimed: {listed(missing, by='; ')}"
        return "not applicable", unclaimed if missing else f"needs {listed(rule.absent)}"
    if unexplained:
        first = min(unexplained, key=lambda each: ORDER.index(_verdict(each)))
        return _verdict(first), shortened(first.reason or f"{first.test} gave no reason")
    if known:
        return "known difference", listed(dict.fromkeys(shortened(f"{each}", 80) for each in known), 3, by="; ")
    waiting = [result for result in own if result.verdict == "waiting"]
    if waiting and (len(waiting) == len(own) or exercised < _needed(own, report)):
        return "waiting", shortened(waiting[0].reason or "a stage that its tests need is wholly broken")
    untried = sum(result.verdict == "cut short" and not result.programs for result in own)
    if untried:
        return "vacuous", f"the budget of the run ended before {untried:,} of its {counted(len(own), 'test')} began"
    ended = [result for result in own if result.verdict in FAILURE_VERDICTS]
    if ended and not any(_verdict(result) == "pass" for result in own):
        others = listed(dict.fromkeys(each.rule for each in report.failures if each.test in {e.test for e in ended}), 3)
        return "vacuous", f"its tests ended early, since their programs break other rules: {others}"
    if exercised >= _needed(own, report):
        return "pass", None
    return _too_few_programs(exercised, own, report)


def _needed(own: Sequence[Result], report: Report) -> int:
    """Returns the number of programs that must exercise a rule for a pass.

    In a run of selected tests, a test with fewer programs than the threshold needs to exercise its rule only once.
    """
    if not own or not selected(report):
        return THRESHOLD
    short = [each.programs < THRESHOLD and each.verdict != "cut short" for each in own if each.programs]
    return max(1, min(THRESHOLD, sum(1 if each else THRESHOLD for each in short)))


def _too_few_programs(exercised: int, own: Sequence[Result], report: Report) -> tuple[Verdict, str]:
    """Returns the verdict on a rule that too few programs exercised (such as *vacuous*, *skipped* or *not reached*),
    with the reason.
    """
    left_out = all(result.verdict == "skipped" for result in own)
    if left_out and (report.footer is None or report.footer.verdict == "interrupted"):
        return "not reached", "the run ended before its tests began"
    if left_out and selected(report):
        return "skipped", shortened(own[0].reason or "its tests were skipped") if own else "its tests were left out"
    if own and all(result.verdict == "not applicable" for result in own):
        absent = report.header.framework.missing_ops
        first = next((result for result in own if result.op not in absent), own[0])
        return "not applicable", shortened(first.reason or "its tests do not apply to this framework")
    if not own and not exercised:
        return "vacuous", "none of its tests ran"
    undrawn = next((each.reason for each in own if each.verdict == "vacuous"), None) if not exercised else None
    few = f"exercised by {counted(exercised, 'program')}; at least {_needed(own, report)} are needed"
    return "vacuous", shortened(f"no program could be drawn for it: {undrawn}") if undrawn else few


def _unexplained(results: Iterable[Result], failures: Iterable[Failure]) -> list[Result]:
    explained = {(failure.test, failure.verdict) for failure in failures}
    bad = (result for result in results if result.verdict in (*FAILURE_VERDICTS, *INCONCLUSIVE))
    return [result for result in bad if (result.test, result.verdict) not in explained]


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


def _ops(report: Report, differences: Iterable[Difference]) -> tuple[OpSummary, ...]:
    known: dict[str, list[Difference]] = defaultdict(list)
    results: dict[str, list[Result]] = defaultdict(list)
    failures: dict[str, list[Failure]] = defaultdict(list)
    for result in report.results:
        if result.op is not None:
            results[result.op].append(result)
    for failure in report.failures:
        if failure.op is not None:
            failures[failure.op].append(failure)
    for difference in differences:
        if difference.op is not None:
            known[difference.op].append(difference)
    return tuple(_op(op, results[op], failures[op], known[op]) for op in sorted({*results, *failures, *known}))


def _op(op: str, results: list[Result], failures: list[Failure], known: list[Difference]) -> OpSummary:
    programs = sum(result.programs for result in results)
    reasons: list[tuple[Verdict, str | None]] = [(each.verdict, each.diagnosis or each.observed) for each in failures]
    reasons += [("known difference", difference.reason) for difference in known]
    reasons += [(_verdict(result), result.reason) for result in results]
    verdict, reason = min(reasons, key=lambda each: ORDER.index(each[0]))
    cut = [result for result in results if result.verdict == "cut short"]
    if verdict in ("pass", "vacuous") and (untried := sum(not result.programs for result in cut)):
        return OpSummary(op, "vacuous", programs, f"the budget of the run ended before {untried:,} of its tests began")
    if verdict == "pass" and cut and programs < THRESHOLD:
        few = f"the budget of the run ended after {counted(programs, 'program')} of its tests"
        return OpSummary(op, "vacuous", programs, few)
    if any(each == "pass" for each, _ in reasons) and verdict in ("not applicable", "vacuous", "skipped"):
        verdict, reason = "pass", None  # a test that does not apply, or drew no program, does not outweigh a pass
    return OpSummary(op, verdict, programs, shortened(reason) if reason and verdict != "pass" else None)


def _verdict(result: Result) -> Verdict:
    """Returns the verdict on a test: a pass without programs becomes *vacuous*, and a test that the budget cut short
    counts as a pass if it ran any program.
    """
    verdict: Verdict = "pass" if result.verdict == "cut short" else result.verdict
    return "vacuous" if verdict == "pass" and result.programs == 0 else verdict


CALLS = frozenset({"imperative backward that leaves gradients in leaves", "gradients as results, without accumulation"})
"""The names of the capabilities of which each is a call that computes gradients."""


def differentiates(report: Report) -> bool:
    """Whether the framework claims a call that computes gradients."""
    return not CALLS.isdisjoint(report.header.framework.capabilities)


def _conclude(report: Report, rules: Iterable[RuleSummary]) -> tuple[Conclusion, str]:
    name = report.header.framework.title
    applicable = [each for each in rules if MEANING_OF[each.verdict].applicable]
    must = [each for each in applicable if each.rule.level == "MUST"]
    should = [each for each in applicable if each.rule.level == "SHOULD"]
    binding, which = (must + should, "MUST and SHOULD") if report.header.strict else (must, "MUST")
    broken = [each for each in binding if MEANING_OF[each.verdict].is_failure]
    differing = {each.rule.rule for each in must if each.verdict == "known difference"}
    known = counted(observed_count(report), "known difference")
    but = f", except by {known}" if differing else ""
    ran = f"in {counted(report.programs, 'program')}"
    if broken:
        rules_of = f"{len(broken)} of {counted(len(binding), f'applicable {which} rule')}"
        return "not conformant", f"{name} breaks {rules_of}, {ran}."
    if report.programs == 0:
        why = "" if differentiates(report) else " It claims no call that computes gradients, so no rule can be tested."
        return "no verdict", f"No program ran on {name}.{why}"
    if not must:
        return "no verdict", f"No MUST rule applies to the capabilities that {name} claims."
    if report.footer is None or report.footer.verdict == "interrupted":
        return "no verdict", f"The run on {name} did not finish. No MUST rule was broken {ran}{but}."
    stale = sum(each.stale for each in entries(report)) if report.header.strict else 0
    if stale:
        fails = f"A strict run fails because of {counted(stale, 'stale known difference')}."
        return "not conformant", f"{name} breaks no applicable MUST or SHOULD rule, {ran}{but}. {fails}"
    doubt = _why_no_verdict(report, must)
    if doubt:
        return "no verdict", f"{doubt} No MUST rule was broken {ran}{but}."
    return _conformant(report, must, should, but if selected(report) else known)


def _why_no_verdict(report: Report, must: Sequence[RuleSummary]) -> str | None:
    """The reason why a run without failures has no verdict; None if it has one."""
    name = report.header.framework.title
    undecided = sum(MEANING_OF[each.verdict].prevents_verdict for each in must)
    if undecided:
        return f"{undecided} of {counted(len(must), 'applicable MUST rule')} could not be decided for {name}."
    unjudged = sum(result.verdict in INCONCLUSIVE for result in report.results)
    if unjudged:
        return f"{counted(unjudged, 'test')} of {name} ended in an error that says nothing about {name}."
    if not any(each.verdict in ("pass", "known difference") for each in must):
        return f"None of {counted(len(must), 'applicable MUST rule')} was tested on {name}."
    return None


def _conformant(
    report: Report, must: Sequence[RuleSummary], should: Sequence[RuleSummary], known: str
) -> tuple[Conclusion, str]:
    """Returns the conclusion, and a sentence with its reasons, of a run that is complete enough and in which no MUST
    rule failed.
    """
    name, ran = report.header.framework.title, f"in {counted(report.programs, 'program')}"
    followed, ignored = (sum(each.verdict in those for each in should) for those in (("pass",), FAILURE_VERDICTS))
    breaks = f" and breaks {ignored}" if ignored else ""
    advice = f" It passes {followed} of {counted(len(should), 'applicable SHOULD rule')}{breaks}." if should else ""
    passed = sum(each.verdict == "pass" for each in must)
    passes = f"passes {passed} of {counted(len(must), 'applicable MUST rule')}"
    if selected(report):
        but = f" It breaks {counted(ignored, 'applicable SHOULD rule')}." if ignored else ""
        chosen = "Tests were left out, so this is not a verdict on the framework."
        return (
            "selection passed",
            f"{name} breaks no MUST rule in the selected tests and {passes}, {ran}{known}.{but} {chosen}",
        )
    differing = sum(each.verdict == "known difference" for each in must)
    if differing:
        broken_by = f"It breaks {counted(differing, 'rule')} only by listed exceptions ({known})."
        return "conformant with known differences", f"{name} {passes}, {ran}. {broken_by}{advice}"
    return "conformant", f"{name} passes {_all(len(must))}, {ran}.{advice}"


def _all(number: int) -> str:
    return "the one applicable MUST rule" if number == 1 else f"all {number} applicable MUST rules"
