"""The sentence about the stages of a run, and rules that wait."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autograd_conformance.reporting.analysis.stages import GATES
from autograd_conformance.reporting.analysis.summary import summarize
from autograd_conformance.reporting.merging.merge import MergedRuns
from autograd_conformance.reporting.records.records import Footer, Report, Result, RuleRecord
from autograd_conformance.reporting.render import brief, markdown
from tests.reporting.miniatures import FAILURE, FOOTER, HEADER, shown

STAGES = ("values", "gradients", "lifetime", "modes", "hooks")
RULES = tuple(
    RuleRecord(rule=f"{stage}/rule", family=stage, level="MUST", sentence="It MUST hold.", stage=stage)
    for stage in STAGES
)
CUT = replace(FOOTER, verdict="cut short", reason="the run's budget (--programs or --seconds) ended")
ENDED = replace(FOOTER, verdict="interrupted", reason="stopped from the keyboard", not_run=3)


def result(of: str, programs: int, **fields: object) -> Result:
    exercised = {f"{of}/rule": programs} if programs else {}
    made = Result(test=of, rule=f"{of}/rule", verdict="pass", programs=programs, exercised=exercised, seconds=1.0)
    return replace(made, **fields)  # type: ignore[arg-type]


def report(*results: Result, footer: Footer = FOOTER, failures: tuple[str, ...] = ()) -> Report:
    header = replace(HEADER, stages=STAGES)
    made = [replace(FAILURE, rule=f"{stage}/rule", test=stage) for stage in failures]
    return Report(header, RULES, results, tuple(made), footer)


def passed(*stages: str, programs: int = 300) -> list[Result]:
    return [result(stage, programs) for stage in stages]


def test_a_run_that_came_to_the_end_of_all_stages_says_no_more() -> None:
    assert summarize(report(*passed(*STAGES))).climb == ""
    assert summarize(replace(report(*passed(*STAGES)), header=HEADER)).stages == (), "records of older versions"


def test_a_run_that_was_ended_says_how_far_it_came() -> None:
    stopped = report(*passed("values", "gradients", "lifetime"), result("modes", 7), footer=ENDED)
    expected = (
        "Stages 1 to 3 (values to lifetime) hold in 900 programs; 4 (modes) holds so far, in 7 programs; "
        "the rest was not reached."
    )
    assert summarize(stopped).climb == expected
    assert expected in " ".join(shown(stopped).split())
    assert "Stages 1 to 3" in markdown.render(stopped) and "Stages 1 to 3" in brief.render(stopped)


def test_a_run_that_its_budget_cut_short_says_how_far_it_came() -> None:
    first, second = passed("values"), result("gradients", 3, verdict="cut short")
    none = [result(stage, 0, verdict="cut short") for stage in STAGES[2:]]
    expected = "Stage 1 (values) holds in 300 programs; 2 (gradients) holds so far, in 3 programs; "
    expected += "the rest was not reached."
    assert summarize(report(*first, second, *none, footer=CUT)).climb == expected


def test_a_broken_stage_is_said_with_the_number_of_its_causes() -> None:
    failed = result("lifetime", 300, verdict="fail")
    run = report(*passed("values", "gradients", "modes", "hooks"), failed, failures=("lifetime",))
    assert summarize(run).climb == (
        "Stages 1 and 2 (values to gradients) hold in 600 programs; 3 (lifetime) is broken by one cause; "
        "4 and 5 (modes to hooks) hold in 600 programs."
    )


def wholly_broken() -> Report:
    """A run in which all gradients are wrong: the stages that need them wait."""
    gate = GATES.format("gradients")
    failure = result("gradients", 3, test=gate, verdict="fail", stage="gradients")
    reason = "all smallest programs of the stage 'gradients' go wrong"
    waiting = [result(stage, 0, verdict="waiting", reason=reason) for stage in STAGES[1:]]
    made = report(*passed("values"), failure, *waiting, failures=("gradients",))
    return replace(made, failures=tuple(replace(each, test=gate) for each in made.failures))


def test_what_needs_a_wholly_broken_stage_is_waiting() -> None:
    summary = summarize(wholly_broken())
    assert summary.conclusion == "not conformant" and len(summary.causes) == 1
    assert summary.climb == (
        "Stage 1 (values) holds in 300 programs; 2 (gradients) is wholly broken by one cause; "
        "3 to 5 (lifetime to hooks) wait."
    )
    verdicts = {each.rule.rule: each.verdict for each in summary.rules}
    assert verdicts["gradients/rule"] == "fail"
    assert {verdicts[f"{stage}/rule"] for stage in STAGES[2:]} == {"waiting"}
    assert summary.rules[2].reason == "all smallest programs of the stage 'gradients' go wrong"


@pytest.mark.parametrize(("exercised", "verdict"), [(300, "pass"), (3, "waiting")])
def test_a_rule_of_which_only_some_tests_wait_is_judged_by_the_others(exercised: int, verdict: str) -> None:
    waits = result("values", 0, test="other", verdict="waiting", reason="a stage is broken", stage="hooks")
    summary = summarize(report(result("values", exercised), waits))
    assert summary.rules[0].verdict == verdict


def test_a_rule_whose_tests_all_wait_waits_although_others_exercised_it() -> None:
    own = result("hooks", 0, verdict="waiting", reason="a stage is broken")
    other = result("values", 300, exercised={"values/rule": 300, "hooks/rule": 300})
    assert summarize(report(other, own)).rules[4].verdict == "waiting"


def test_a_stage_whose_tests_do_not_apply_is_not_counted() -> None:
    none = result("lifetime", 0, verdict="not applicable", reason="not claimed")
    other = result("values", 300, exercised={"values/rule": 300, "lifetime/rule": 300})
    assert summarize(report(other, none, *passed("gradients"), footer=ENDED)).climb == (
        "Stages 1 and 2 (values to gradients) hold in 600 programs; the rest was not reached."
    )


def test_a_selection_says_nothing_of_stages_without_selected_tests() -> None:
    some = replace(FOOTER, selection=True)
    assert summarize(report(*passed("lifetime", "modes"), footer=some)).climb == ""
    failed = result("modes", 300, verdict="fail")
    assert summarize(report(*passed("lifetime"), failed, footer=some, failures=("modes",))).climb == (
        "Stage 3 (lifetime) holds in 300 programs; 4 (modes) is broken by one cause."
    )


def test_stages_are_merged() -> None:
    merged = MergedRuns()
    for run in (wholly_broken(), replace(wholly_broken(), header=replace(wholly_broken().header, seed=8))):
        merged.add(run)
    assert summarize(merged.report()).climb == (
        "Stage 1 (values) holds in 600 programs; 2 (gradients) is wholly broken by one cause; "
        "3 to 5 (lifetime to hooks) wait."
    )


def test_a_failure_counts_in_the_stage_of_its_wrong_line() -> None:
    failed = result("lifetime", 300, verdict="fail")
    run = report(*passed("values", "gradients"), failed, result("modes", 9), footer=ENDED, failures=("lifetime",))
    early = replace(run, failures=(replace(run.failures[0], stage="gradients"),))
    assert summarize(early).climb == (
        "Stage 1 (values) holds in 300 programs; 2 (gradients) is broken by one cause; "
        "3 and 4 (lifetime to modes) hold so far, in 309 programs; the rest was not reached."
    )
    both = replace(run, failures=(*early.failures, replace(run.failures[0], at=0)))
    assert "3 (lifetime) is broken by" in summarize(both).climb


def test_a_failure_in_a_line_of_a_stage_without_rules_counts_in_the_stage_of_its_rule() -> None:
    run = report(*passed("values"), result("gradients", 9, verdict="fail"), failures=("gradients",))
    rules = tuple(rule for rule in RULES if rule.stage != "lifetime")
    moved = replace(run, rules=rules, failures=(replace(run.failures[0], stage="lifetime"),))
    states = {each.name: (each.state, each.causes) for each in summarize(moved).stages}
    assert states["gradients"] == ("is broken", 1) and states["lifetime"] == ("has no rule", 0)
