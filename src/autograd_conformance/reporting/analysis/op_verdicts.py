"""The verdicts on ops: each over all tests of the op."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from autograd_conformance.reporting.analysis.differences import Difference
from autograd_conformance.reporting.analysis.rule_verdicts import ORDER, verdict_of
from autograd_conformance.reporting.analysis.verdicts import THRESHOLD
from autograd_conformance.reporting.prose import counted, shortened
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import Report, Result
from autograd_conformance.reporting.records.terms import Verdict


@dataclass(frozen=True, slots=True)
class OpSummary:
    """Verdict on an op over all tests of that op, with the number of these tests' programs, and the reason if not a
    pass.
    """

    op: str
    verdict: Verdict
    programs: int
    reason: str | None = None


def op_summaries(report: Report, differences: Iterable[Difference]) -> tuple[OpSummary, ...]:
    """Returns the verdicts on all ops, given the known differences that a run observed."""
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
    reasons += [(verdict_of(result), result.reason) for result in results]
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
