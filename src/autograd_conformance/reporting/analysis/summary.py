"""From records to verdicts: what a run says about each rule, each family, each op, and the framework as a whole.

A failure counts for the rule that it breaks, whichever test found it, and a rule counts as exercised by the programs of
every test. A test that went wrong and left no failure behind counts against its own rule, so that nothing is lost. A
known difference is no failure, but no pass either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never, get_args

from autograd_conformance.reporting.analysis.causes import Cause, cause_number, causes
from autograd_conformance.reporting.analysis.differences import Difference, Entry, entries, observed_differences
from autograd_conformance.reporting.analysis.verdicts import MEANING_OF, THRESHOLD, VERDICTS, Exit
from autograd_conformance.reporting.prose import counted, listed, shortened
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import Footer, Report, Result, RuleRecord
from autograd_conformance.reporting.records.terms import FAILURE_VERDICTS, INCONCLUSIVE, Conclusion, Level, Verdict

ORDER: tuple[Verdict, ...] = tuple(each.verdict for each in VERDICTS if each.verdict in get_args(Verdict))  # type: ignore[misc]
"""Every verdict, the one that needs attention most first."""

DIFFERING: tuple[Verdict, ...] = (*FAILURE_VERDICTS, "known difference")
"""The verdicts for which the framework was seen to do other than a rule says."""


@dataclass(frozen=True, slots=True)
class Total:
    """How many passed, of those that apply, of all."""

    passed: int
    applicable: int
    all: int

    def __str__(self) -> str:
        return f"{self.passed} / {self.applicable} / {self.all}"


@dataclass(frozen=True, slots=True)
class RuleSummary:
    """One rule's verdict, how often programs exercised it, its failures, and the reason where it is not a pass."""

    rule: RuleRecord
    verdict: Verdict
    exercised: int
    failures: tuple[Failure, ...] = ()
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class FamilySummary:
    """One family's total over its judged rules, the programs that its tests ran, its failures, and which part of the
    programs' instructions was judged; None where that is not known.
    """

    name: str
    total: Total
    programs: int
    failures: int
    judged: float | None


@dataclass(frozen=True, slots=True)
class OpSummary:
    """One op's verdict over every test about it, the programs those ran, and the reason where it is not a pass."""

    op: str
    verdict: Verdict
    programs: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """Everything that the records say, judged; `total` counts the MUST and SHOULD rules, not the INFO ones.

    `sentence` says in words what the conclusion rests on, without repeating it.
    """

    conclusion: Conclusion
    sentence: str
    total: Total
    rules: tuple[RuleSummary, ...]
    families: tuple[FamilySummary, ...]
    ops: tuple[OpSummary, ...]
    known: tuple[Entry, ...]
    causes: tuple[Cause, ...]
    programs: int
    unspecified: int
    judged: float | None
    seconds: float | None

    @property
    def rate(self) -> float | None:
        """Programs per second of the whole run; None where it is not known."""
        return self.programs / self.seconds if self.seconds else None


def summarize(report: Report) -> Summary:
    """The verdicts that follow from a report's records."""
    differences = observed_differences(report)
    rules = tuple(_rule(rule, report, differences) for rule in report.rules)
    conclusion, sentence = _conclude(report, rules, differences)
    return Summary(
        conclusion,
        sentence,
        _total(rules),
        rules,
        tuple(_family(name, rules, report) for name in dict.fromkeys(rule.family for rule in report.rules)),
        _ops(report, differences),
        entries(report),
        causes(report),
        report.programs,
        sum(result.left_open for result in report.results),
        _judged(report.results),
        report.footer.seconds if report.footer else None,
    )


def complete(report: Report) -> bool:
    """Whether the run came to its end; False where it was interrupted, cut short or cut off."""
    return report.footer is not None and report.footer.verdict == "complete"


def selected(report: Report) -> bool:
    """Whether a part of the suites was run: options, or somebody's plugin, left tests out."""
    footer = report.footer
    chosen = footer is not None and (footer.selection or footer.deselected > 0)
    return chosen or any(result.verdict == "skipped" for result in report.results)


def exit_code(summary: Summary, footer: Footer, status: int) -> int:
    """The exit code of a run that has come to its end, given pytest's own `status`: that one stands where the run was
    stopped, or where a test that is none of the suite's failed.
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
    """How an incomplete run ended, in words."""
    footer = report.footer
    if footer is None:
        return "TRUNCATED: the run left no footer. This is what had finished by then."
    reason = shortened(footer.reason or "the run was stopped before its end")
    if footer.verdict == "cut short":
        ended = sum(result.verdict == "cut short" for result in report.results)
        return f"CUT SHORT: {reason}." + (f" {counted(ended, 'test')} ended before their time." if ended else "")
    missing = f" {counted(footer.not_run, 'test')} did not run." if footer.not_run else ""
    return f"INTERRUPTED: {reason}.{missing} This is what had finished by then."


def by_attention(rules: Iterable[RuleSummary]) -> list[RuleSummary]:
    """The rules with those that need attention first, and MUST before SHOULD before INFO within a verdict."""
    levels = get_args(Level)
    return sorted(rules, key=lambda each: (ORDER.index(each.verdict), levels.index(each.rule.level)))


def applies(family: FamilySummary) -> bool:
    """Whether a family has a rule that applies to the framework, or a failure all the same."""
    return bool(family.total.applicable or family.failures)


def numbered_reason(rule: RuleSummary, found: tuple[Cause, ...], shown: int = 0) -> str:
    """Why a rule is not a pass, with the numbers of the causes where there are several; of the first `shown` of these
    no more than that, for they stand above.
    """
    numbers = sorted({cause_number(failure, found) for failure in rule.failures})
    which = f"{'cause' if len(numbers) == 1 else 'causes'} {listed(map(str, numbers))}" if len(found) > 1 else ""
    if not numbers or not which:
        return rule.reason or ""
    if numbers[-1] <= shown:
        return f"{which}, {counted(len(rule.failures), 'failure')}"
    return f"{which}: {rule.reason}"


def failing_ops(summary: Summary) -> tuple[OpSummary, ...]:
    """The ops that a test found wrong."""
    return tuple(each for each in summary.ops if each.verdict in FAILURE_VERDICTS)


def differing_ops(summary: Summary) -> tuple[OpSummary, ...]:
    """The ops that differ only in ways that are known."""
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
    if failures:  # before anything else: what was seen to go wrong is never hidden behind a capability
        worst = min(failures, key=lambda each: FAILURE_VERDICTS.index(each.verdict))
        more = f" (and {counted(len(failures) - 1, 'other failure')})" if len(failures) > 1 else ""
        where = f"{worst.op}: " if worst.op else ""
        return worst.verdict, where + shortened(worst.diagnosis or worst.observed) + more
    missing = [need for need in rule.needs if need not in report.header.framework.capabilities]
    if (missing or rule.absent) and not known:
        lacks = f"needs {listed(missing)}, not claimed" if missing else f"needs {listed(rule.absent)}"
        return "not applicable", lacks
    if unexplained:
        first = min(unexplained, key=lambda each: ORDER.index(_verdict(each)))
        return _verdict(first), shortened(first.reason or f"no reason was given by {first.test}")
    if known:
        return "known difference", listed(dict.fromkeys(shortened(f"{each}", 80) for each in known), 3, by="; ")
    untried = sum(result.verdict == "cut short" and not result.programs for result in own)
    if untried:
        return "vacuous", f"the run's budget ended before {untried:,} of its {counted(len(own), 'test')} began"
    if exercised >= _needed(own, report):
        return "pass", None
    return _too_few_programs(exercised, own, report)


def _needed(own: Sequence[Result], report: Report) -> int:
    """How often a rule has to be exercised. Of a selection, which may have chosen some of its tests alone, each test
    that has fewer programs than the threshold is to exercise it once.
    """
    if not own or not selected(report):
        return THRESHOLD
    short = [each.programs < THRESHOLD and each.verdict != "cut short" for each in own if each.programs]
    return max(1, min(THRESHOLD, sum(1 if each else THRESHOLD for each in short)))


def _too_few_programs(exercised: int, own: Sequence[Result], report: Report) -> tuple[Verdict, str]:
    """What is said of a rule that too few programs exercised, and why."""
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
        return "vacuous", "none of its tests was run"
    undrawn = next((each.reason for each in own if each.verdict == "vacuous"), None) if not exercised else None
    few = f"exercised {counted(exercised, 'time')}; at least {_needed(own, report)} are needed"
    return "vacuous", shortened(f"none of its programs could be drawn: {undrawn}") if undrawn else few


def _unexplained(results: Iterable[Result], failures: Iterable[Failure]) -> list[Result]:
    explained = {(failure.test, failure.verdict) for failure in failures}
    bad = (result for result in results if result.verdict in (*FAILURE_VERDICTS, *INCONCLUSIVE))
    return [result for result in bad if (result.test, result.verdict) not in explained]


def _total(rules: Iterable[RuleSummary]) -> Total:
    judged = [MEANING_OF[each.verdict] for each in rules]
    return Total(
        sum(each.passed for each in judged), sum(each.applicable for each in judged), sum(each.all for each in judged)
    )


def _family(name: str, rules: Iterable[RuleSummary], report: Report) -> FamilySummary:
    members = [each for each in rules if each.rule.family == name]
    slugs = {each.rule.rule for each in members}
    results = [result for result in report.results if result.rule in slugs]
    programs, failures = sum(result.programs for result in results), sum(len(each.failures) for each in members)
    return FamilySummary(name, _total(members), programs, failures, _judged(results))


def _judged(results: Sequence[Result]) -> float | None:
    """Which part of the instructions of programs was judged."""
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
    if any(each == "pass" for each, _ in reasons) and verdict in ("not applicable", "vacuous", "skipped"):
        verdict, reason = "pass", None  # one of its tests does not apply, or drew nothing; the others passed
    return OpSummary(op, verdict, programs, shortened(reason) if reason and verdict != "pass" else None)


def _verdict(result: Result) -> Verdict:
    """A pass that ran no program is no pass; a test that was cut short is one as far as it went."""
    verdict: Verdict = "pass" if result.verdict == "cut short" else result.verdict
    return "vacuous" if verdict == "pass" and result.programs == 0 else verdict


def _conclude(
    report: Report, rules: Iterable[RuleSummary], differences: Iterable[Difference]
) -> tuple[Conclusion, str]:
    name = report.header.framework.title
    applicable = [each for each in rules if MEANING_OF[each.verdict].applicable]
    must = [each for each in applicable if each.rule.level == "MUST"]
    should = [each for each in applicable if each.rule.level == "SHOULD"]
    binding, which = (must + should, "MUST and SHOULD") if report.header.strict else (must, "MUST")
    broken = [each for each in binding if MEANING_OF[each.verdict].is_failure]
    differing = {each.rule.rule for each in must if each.verdict == "known difference"}
    known = counted(sum(each.rule in differing for each in differences), "known difference")
    but = f", other than by {known}" if differing else ""
    ran = f"in {counted(report.programs, 'program')}"
    if broken:
        rules_of = f"{len(broken)} of {counted(len(binding), f'applicable {which} rule')}"
        return "not conformant", f"{name} breaks {rules_of}, {ran}."
    if report.programs == 0:
        return "no verdict", f"No program was run on {name}."
    if not must:
        return "no verdict", f"No MUST rule applies to what {name} claims."
    if report.footer is None or report.footer.verdict == "interrupted":
        return "no verdict", f"The run on {name} was cut short. No MUST rule was broken {ran}{but}."
    stale = sum(each.stale for each in entries(report)) if report.header.strict else 0
    if stale:
        fails = f"Stale, for which a strict run fails: {counted(stale, 'known difference')}."
        return "not conformant", f"{name} breaks no applicable MUST or SHOULD rule, {ran}{but}. {fails}"
    doubt = _why_no_verdict(report, must)
    if doubt:
        return "no verdict", f"{doubt} None was broken {ran}{but}."
    return _conformant(report, must, should, but if selected(report) else known)


def _why_no_verdict(report: Report, must: Sequence[RuleSummary]) -> str | None:
    """Why there can be no verdict on a run that broke nothing, if there can be none."""
    name = report.header.framework.title
    undecided = sum(MEANING_OF[each.verdict].prevents_verdict for each in must)
    if undecided:
        return f"{name} was not really tested on {undecided} of {counted(len(must), 'applicable MUST rule')}."
    unjudged = sum(result.verdict in INCONCLUSIVE for result in report.results)
    if unjudged:
        return f"{counted(unjudged, 'test')} of {name} went wrong, which says nothing about it."
    if not any(each.verdict in ("pass", "known difference") for each in must):
        return f"{name} was really tested on none of {counted(len(must), 'applicable MUST rule')}."
    return None


def _conformant(
    report: Report, must: Sequence[RuleSummary], should: Sequence[RuleSummary], known: str
) -> tuple[Conclusion, str]:
    """The headline of a run that was complete enough, and in which nothing is broken."""
    name, ran = report.header.framework.title, f"in {counted(report.programs, 'program')}"
    followed, ignored = (sum(each.verdict in those for each in should) for those in (("pass",), FAILURE_VERDICTS))
    breaks = f" and breaks {ignored}" if ignored else ""
    advice = f" It follows {followed} of {counted(len(should), 'applicable SHOULD rule')}{breaks}." if should else ""
    held = sum(each.verdict == "pass" for each in must)
    kept = f"{held} of {counted(len(must), 'applicable MUST rule')}"
    if selected(report):
        but = f" It breaks {counted(ignored, 'applicable SHOULD rule')}." if ignored else ""
        chosen = "Tests were left out: this is no verdict on the framework."
        return (
            "selection passed",
            f"{name} breaks no MUST rule of what was chosen and keeps {kept}, {ran}{known}.{but} {chosen}",
        )
    differing = sum(each.verdict == "known difference" for each in must)
    if differing:
        broken_by = f"It breaks {counted(differing, 'rule')} by {known} alone."
        return "conformant with known differences", f"{name} keeps {kept}, {ran}. {broken_by}{advice}"
    return "conformant", f"{name} keeps {_all(len(must))}, {ran}.{advice}"


def _all(number: int) -> str:
    return "the one applicable MUST rule" if number == 1 else f"all {number} applicable MUST rules"
