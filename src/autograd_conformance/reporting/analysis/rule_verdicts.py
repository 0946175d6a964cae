"""The verdicts on rules: each has its failures, the programs that exercised it, and the reason if it is no pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import get_args

from autograd_conformance.reporting.analysis.causes import Cause, cause_number
from autograd_conformance.reporting.analysis.differences import Difference
from autograd_conformance.reporting.analysis.verdicts import THRESHOLD, VERDICTS
from autograd_conformance.reporting.prose import counted, listed, shortened
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import Report, Result, RuleRecord
from autograd_conformance.reporting.records.terms import FAILURE_VERDICTS, INCONCLUSIVE, Level, Verdict

ORDER: tuple[Verdict, ...] = tuple(each.verdict for each in VERDICTS if each.verdict in get_args(Verdict))  # type: ignore[misc]
"""All verdicts on rules, in the order in which they need attention, from ``fail`` to ``pass``."""

DIFFERING: tuple[Verdict, ...] = (*FAILURE_VERDICTS, "known difference")
"""The verdicts on rules or ops that mean that the framework was observed to break a rule, known differences
included.
"""


@dataclass(frozen=True, slots=True)
class RuleSummary:
    """Verdict on a rule, with its failures, the number of programs that exercised it, and the reason if not a pass."""

    rule: RuleRecord
    verdict: Verdict
    exercised: int
    failures: tuple[Failure, ...] = ()
    reason: str | None = None


def complete(report: Report) -> bool:
    """Whether the run of a report finished; False if it was interrupted, out of budget or killed."""
    return report.footer is not None and report.footer.verdict == "complete"


def selected(report: Report) -> bool:
    """Whether only a part of the suites ran in a report's run, because options or a plugin left tests out."""
    footer = report.footer
    chosen = footer is not None and (footer.selection or footer.deselected > 0)
    return chosen or any(result.verdict == "skipped" for result in report.results)


def by_attention(rules: Iterable[RuleSummary]) -> list[RuleSummary]:
    """Sorts rules by need for attention, failures first and passes last; within a verdict MUST rules come before SHOULD
    and INFO rules.
    """
    levels = get_args(Level)
    return sorted(rules, key=lambda each: (ORDER.index(each.verdict), levels.index(each.rule.level)))


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


def rule_summary(rule: RuleRecord, report: Report, differences: Iterable[Difference]) -> RuleSummary:
    """Returns the verdict on a rule, given the known differences that a run observed."""
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
        first = min(unexplained, key=lambda each: ORDER.index(verdict_of(each)))
        return verdict_of(first), shortened(first.reason or f"{first.test} gave no reason")
    if known:
        return "known difference", listed(dict.fromkeys(shortened(f"{each}", 80) for each in known), 3, by="; ")
    waiting = [result for result in own if result.verdict == "waiting"]
    if waiting and (len(waiting) == len(own) or exercised < _needed(own, report)):
        return "waiting", shortened(waiting[0].reason or "a stage that its tests need is wholly broken")
    untried = sum(result.verdict == "cut short" and not result.programs for result in own)
    if untried:
        return "vacuous", f"the budget of the run ended before {untried:,} of its {counted(len(own), 'test')} began"
    ended = [result for result in own if result.verdict in FAILURE_VERDICTS]
    if ended and not any(verdict_of(result) == "pass" for result in own):
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


def verdict_of(result: Result) -> Verdict:
    """Returns the verdict on a test: a pass without programs becomes *vacuous*, and a test that the budget cut short
    counts as a pass if it ran any program.
    """
    verdict: Verdict = "pass" if result.verdict == "cut short" else result.verdict
    return "vacuous" if verdict == "pass" and result.programs == 0 else verdict
