"""Verdicts on rules, ops and the framework follow from the records."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.reporting.analysis.conclusion import CALLS
from autograd_conformance.reporting.analysis.summary import summarize
from autograd_conformance.reporting.analysis.verdicts import THRESHOLD
from autograd_conformance.reporting.records.encoding import decode, encode
from autograd_conformance.reporting.records.records import Report, Result
from tests.reporting.miniatures import AGAIN, CRASH, FAILURE, OP, PASSES, RAISES, RULES, SOUND, verdicts


def test_what_was_exercised_enough_without_failure_passes() -> None:
    summary = summarize(SOUND)
    assert [each.verdict for each in summary.rules] == ["pass"] * 3
    assert (summary.conclusion, str(summary.total)) == ("conformant", "3 / 3 / 3")
    assert summary.sentence == "toytorch 1.2 passes all 3 applicable MUST rules, in 300 programs."


@pytest.mark.parametrize(("times", "verdict"), [(THRESHOLD - 1, "vacuous"), (THRESHOLD, "pass")])
def test_a_rule_that_few_programs_exercised_is_vacuous(times: int, verdict: str) -> None:
    few = replace(PASSES[1], exercised={AGAIN: times - 1})
    elsewhere = replace(PASSES[0], exercised={RAISES: 100, AGAIN: 1})
    report = replace(SOUND, results=(elsewhere, few, PASSES[2]))
    assert verdicts(report)[AGAIN] == verdict
    assert summarize(report).conclusion == ("conformant" if verdict == "pass" else "no verdict")


def test_a_rule_whose_capability_is_not_claimed_does_not_apply() -> None:
    summary = summarize(replace(SOUND, rules=(*RULES[:2], replace(RULES[2], needs=("retain", "hooks")))))
    assert (summary.rules[2].verdict, summary.rules[2].reason) == ("not applicable", "not claimed: hooks")
    assert (str(summary.total), summary.conclusion) == ("2 / 2 / 3", "conformant")


def test_a_rule_whose_tests_all_do_not_apply_does_not_apply() -> None:
    skipped = replace(PASSES[2], verdict="not applicable", programs=0, exercised={}, reason="no such op")
    summary = summarize(replace(SOUND, results=(*PASSES[:2], skipped)))
    assert (summary.rules[2].verdict, summary.rules[2].reason) == ("not applicable", "no such op")


def test_a_failure_counts_for_its_rule_whichever_test_found_it() -> None:
    """The test of another rule finds a failure of the rule on freed graphs: only the latter is broken, and the other
    rule has no test that ended without a failure.
    """
    found = replace(PASSES[1], verdict="fail", test=FAILURE.test)
    report = replace(SOUND, results=(PASSES[0], found, PASSES[2]), failures=(FAILURE,))
    assert verdicts(report) == {RAISES: "fail", AGAIN: "vacuous", OP: "pass"}
    assert (
        summarize(report).rules[1].reason == f"its tests ended early, since their programs break other rules: {RAISES}"
    )
    second = replace(report, results=(*report.results, PASSES[1]))
    assert verdicts(second)[AGAIN] == "pass"
    assert [each.failures for each in summarize(report).families] == [1, 0]


@pytest.mark.parametrize("verdict", ["fail", "crash", "timeout", "flaky", "error"])
def test_a_bad_result_that_left_no_failure_counts_against_its_own_rule(verdict: str) -> None:
    """A worker died during its test: there is a result without a failure record."""
    died = decode(encode(PASSES[0]) | {"verdict": verdict, "reason": "worker\n gw1 died"})
    assert isinstance(died, Result)
    summary = summarize(replace(SOUND, results=(died, *PASSES[1:])))
    assert (summary.rules[0].verdict, summary.rules[0].reason) == (verdict, "worker gw1 died")
    assert summary.conclusion == ("no verdict" if verdict == "error" else "not conformant")


def test_a_failure_is_never_hidden_by_a_capability_that_is_not_claimed() -> None:
    rules = (replace(RULES[0], needs=("hooks",)), *RULES[1:])
    assert verdicts(replace(SOUND, rules=rules, failures=(FAILURE,)))[RAISES] == "fail"


def test_the_worst_failure_names_the_verdict() -> None:
    summary = summarize(replace(SOUND, failures=(replace(CRASH, verdict="flaky"), CRASH)))
    assert summary.rules[2].verdict == "crash"
    assert summary.rules[2].reason == "exp: the process died of signal 11 (the first of 2 failures)"


def test_an_informational_rule_never_fails_and_is_in_no_total() -> None:
    rules = (replace(RULES[0], level="INFO"), *RULES[1:])
    summary = summarize(replace(SOUND, rules=rules, failures=(replace(FAILURE, level="INFO"),)))
    assert (summary.rules[0].verdict, summary.rules[0].exercised) == ("info", 100)
    assert (str(summary.total), summary.conclusion) == ("2 / 2 / 2", "conformant")


def test_a_broken_recommendation_does_not_cost_conformance() -> None:
    rules = (replace(RULES[0], level="SHOULD"), *RULES[1:])
    summary = summarize(replace(SOUND, rules=rules, failures=(replace(FAILURE, level="SHOULD"),)))
    assert (summary.conclusion, str(summary.total)) == ("conformant", "2 / 3 / 3")
    assert summary.sentence.endswith("It passes 0 of 1 applicable SHOULD rule and breaks 1.")


def test_it_does_in_a_strict_run() -> None:
    rules = (replace(RULES[0], level="SHOULD"), *RULES[1:])
    failures = (replace(FAILURE, level="SHOULD"),)
    report = replace(SOUND, header=replace(SOUND.header, strict=True), rules=rules, failures=failures)
    summary = summarize(report)
    assert summary.conclusion == "not conformant"
    assert "breaks 1 of 3 applicable MUST and SHOULD rules" in summary.sentence


def test_ops_have_verdicts_of_their_own() -> None:
    ran = [replace(PASSES[2], test=f"t[{op}]", op=op) for op in ("mul", "exp", "add")]
    ran.append(replace(ran[0], test="t[mul-float16]", verdict="not applicable", programs=0, exercised={}))
    skipped = replace(PASSES[2], test="t[topk]", op="topk", verdict="not applicable", programs=0, exercised={})
    idle = replace(PASSES[2], test="t[sin]", op="sin", programs=0, exercised={})
    summary = summarize(replace(SOUND, results=(*ran, skipped, idle), failures=(CRASH,)))
    found = {each.op: each.verdict for each in summary.ops}
    assert found == {"add": "pass", "exp": "crash", "mul": "pass", "sin": "vacuous", "topk": "not applicable"}


@pytest.mark.parametrize(
    ("report", "sentence"),
    [
        (replace(SOUND, results=()), "No program ran on toytorch 1.2."),
        (
            replace(SOUND, footer=None),
            "The run on toytorch 1.2 did not finish. No MUST rule was broken in 300 programs.",
        ),
        (
            replace(SOUND, rules=tuple(replace(r, needs=("x",)) for r in RULES)),
            "No MUST rule applies to the capabilities that toytorch 1.2",
        ),
    ],
    ids=["empty", "cut short", "nothing claimed"],
)
def test_a_run_that_shows_nothing_has_no_verdict(report: Report, sentence: str) -> None:
    summary = summarize(report)
    assert summary.conclusion == "no verdict"
    assert summary.sentence.startswith(sentence)


def test_the_calls_that_compute_gradients_are_named_as_capabilities_are() -> None:
    assert {Capability.IMPERATIVE.value, Capability.FUNCTIONAL.value} == CALLS
