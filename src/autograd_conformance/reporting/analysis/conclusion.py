"""The conclusion of a run, with the sentence that gives its reasons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from autograd_conformance.reporting.analysis.differences import entries, observed_count
from autograd_conformance.reporting.analysis.rule_verdicts import RuleSummary, selected
from autograd_conformance.reporting.analysis.verdicts import MEANING_OF
from autograd_conformance.reporting.prose import counted
from autograd_conformance.reporting.records.records import Report
from autograd_conformance.reporting.records.terms import FAILURE_VERDICTS, INCONCLUSIVE, Conclusion

CALLS = frozenset({"imperative backward that leaves gradients in leaves", "gradients as results, without accumulation"})
"""The names of the capabilities of which each is a call that computes gradients."""


def differentiates(report: Report) -> bool:
    """Whether the framework claims a call that computes gradients."""
    return not CALLS.isdisjoint(report.header.framework.capabilities)


def conclude(report: Report, rules: Iterable[RuleSummary]) -> tuple[Conclusion, str]:
    """Returns the conclusion of a run, and a sentence with its reasons, from the verdicts on its rules."""
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
