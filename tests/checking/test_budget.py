"""The budget of a run: its shares, tests that are cut short, and the resulting verdicts."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograd_conformance.checking.audit.workers import AuditCutShort, audit
from autograd_conformance.checking.budget import BoundedCheck, Budget, Demand, Share, Spent
from autograd_conformance.checking.check import Check
from autograd_conformance.checking.limits import Limits
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.processes.timeouts import scaled_timeout
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.reporting.analysis.summary import incomplete_notice, summarize
from autograd_conformance.reporting.records.records import Report
from autograd_conformance.strategies.building.randomness.pool import Pool
from examples.tiny_adapter import Tiny
from tests.frameworks.adapters.wrong import WrongSine
from tests.plugin.test_cli import run
from tests.reporting.miniatures import FOOTER, PASSES, SOUND

pytestmark = pytest.mark.slow


RIGHT, WRONG = parse("a = leaf [1]\nb = exp a\nbackward b"), parse("a = leaf [1]\nb = sin a\nbackward b")
LIFETIME = "suites/test_lifetime.py"


def demands(*programs: float, first: float = 0) -> list[Demand]:
    return [Demand(each, min(each, first)) for each in programs]


@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=30), st.integers(0, 20), st.integers(1, 500), st.integers(1, 4)
)
def test_shares_never_come_to_more_than_there_is(weights: list[int], first: int, programs: int, processes: int):
    budget = Budget(Limits(programs), processes, demands(*weights, first=first))
    ran = 0
    for test, weight in enumerate(weights):
        share = budget.share(test).programs
        assert weight or not share, "a test that does not apply takes nothing"
        ran += share
        budget.used(test, share, 0)
    assert ran <= math.ceil(programs / processes)
    if processes == 1 and any(weights):
        assert ran == programs, "and to no less"


def test_what_a_test_leaves_is_for_those_behind_it():
    budget = Budget(Limits(30), 1, demands(10, 10, 10))
    assert budget.share(0).programs == 10
    budget.used(0, 2, 0)
    assert budget.share(1).programs == 14


def test_what_a_test_needs_comes_before_what_others_have_more_of():
    budget = Budget(Limits(100), 1, demands(6_000, 600, 600, first=20))
    assert budget.share(0).programs == 20 + round(40 * 6_000 / 7_200)
    budget.used(0, 53, 0)
    assert [budget.share(1).programs, budget.share(2).programs] == [20 + round(7 / 2), 47]
    assert Budget(Limits(30), 1, demands(6_000, 600, 600, first=20)).share(0).programs == 10, "too few for all"


def test_a_share_of_seconds_ends_and_without_a_limit_nothing_does():
    budget = Budget(Limits(deadline=time.monotonic() + 100), 2, demands(1, 1, 2))
    assert 45 < budget.share(0).until - time.monotonic() < 51, "each of two processes runs half of the tests"
    assert budget.share(2).until - time.monotonic() > 99
    assert Budget(Limits(deadline=time.monotonic() - 1), 1, demands(1)).share(0).spent(0)
    assert Budget(Limits(), 1, demands(1)).share(0).spent(10**9, tested=False) is False


UNEVEN = [Demand(programs, 20, 1 / 11, at) for at in range(3) for programs in (*[30] * 5, 5_000, *[30] * 5)]
"""Three stages of rules that have the same part of the time, though one of each runs most of the programs."""


def completed(seconds: float, each: float, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Returns for each test of `UNEVEN` whether it ran all programs in a run of so many seconds, `each` a program."""
    now = 1_000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    budget, found = Budget(Limits(deadline=now + seconds), 1, UNEVEN), []
    for test, demand in enumerate(UNEVEN):
        share, ran = budget.share(test), 0
        while ran < demand.programs and not share.spent(ran, tested=ran >= demand.first):
            ran, now = ran + 1, now + each
        found.append(ran == demand.programs)
        budget.used(test, ran, min(ran, 20) * each)
    return found


def test_seconds_that_later_tests_do_not_need_are_for_the_one_that_runs(monkeypatch: pytest.MonkeyPatch):
    needed = sum(each.programs for each in UNEVEN) * 0.01
    assert all(completed(1.6 * needed, 0.01, monkeypatch))
    scarce = completed(0.5 * needed, 0.01, monkeypatch)
    assert {5} <= {number for number, whole in enumerate(scarce) if not whole} <= {5, 16, 27}, "small tests are whole"


def test_programs_that_later_tests_do_not_run_are_for_the_one_that_runs():
    budget = Budget(Limits(sum(int(each.programs) for each in UNEVEN)), 1, UNEVEN)
    for test, demand in enumerate(UNEVEN):
        assert budget.share(test).programs >= demand.programs
        budget.used(test, int(demand.programs), 0)


def test_seconds_that_tests_behind_need_are_kept_for_them(monkeypatch: pytest.MonkeyPatch):
    now = 1_000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    budget = Budget(Limits(deadline=1_100), 1, demands(600, 6_000, 600, first=20))
    assert 1_030 < budget.share(0).first_until < 1_034, "as long as any other to be really tested"
    assert budget.share(0).until < 1_010
    now += 20
    budget.used(0, 20, 20)
    assert 1_070 < budget.share(1).until < 1_075, "of 80 seconds, 20 are for the test behind"
    now += 50
    budget.used(1, 600, 50)
    assert budget.share(2).until == 1_100


def test_a_test_goes_on_until_its_rule_is_really_tested():
    now = time.monotonic()
    check = BoundedCheck(InProcess(Tiny()), rule="gradients/op", share=Share(50, now - 1, now + 60), enough=3)
    for _ in range(3):
        check(RIGHT)
    with pytest.raises(Spent):
        check(RIGHT)
    assert (check.programs, check.exercised["gradients/op"]) == (3, 3)
    late = BoundedCheck(InProcess(Tiny()), rule="hooks/called", share=Share(50, now - 2, now - 1), enough=3)
    with pytest.raises(Spent):
        late(RIGHT)
    assert 0 < check.first_seconds < 60 and late.first_seconds <= 0


def test_a_check_with_a_share_is_the_same_but_for_that():
    check = Check(InProcess(Tiny()), rule="gradients/op", strict=False, pool=Pool(8))
    bounded = BoundedCheck.of(check, Share(5, math.inf))
    assert (bounded.rule, bounded.strict, bounded.pool) == (check.rule, False, check.pool)
    assert bounded.share.programs == 5 and not bounded.cut


def check_of(programs: float, adapter: type[Tiny] = Tiny) -> BoundedCheck:
    return BoundedCheck(InProcess(adapter()), share=Share(programs, math.inf))


def test_a_test_ends_with_its_share():
    check = check_of(3)

    @settings(max_examples=50, database=None)
    @given(st.none())
    def test(_: None):
        check(RIGHT)

    for _ in range(3):
        check(RIGHT)
    with pytest.raises(Spent):
        test()
    assert (check.programs, check.cut) == (3, True)


def test_shrinking_ends_with_the_share_of_a_test():
    check = check_of(1, WrongSine)

    @settings(max_examples=50, database=None)
    @given(st.integers(0, 1_000))
    def test(number: int):
        check(parse(f"a = leaf [{number + 1}]\nb = sin a\nbackward b"))

    with pytest.raises(Spent):
        test()
    assert check.shortest is not None and check.shortest.violation.op == "sin"
    assert (check.programs, check.cut) == (1, True)


def test_a_failure_behind_the_share_is_not_looked_for():
    check = check_of(1, WrongSine)
    check(RIGHT)
    with pytest.raises(Spent):
        check(WRONG)


# -- the whole run -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "which"), [(Limits(20), "programs"), (Limits(deadline=time.monotonic()), "seconds")]
)
def test_the_audit_keeps_to_the_budget(limits, which):
    with pytest.raises(AuditCutShort, match=f"the budget of {which} ended while each op was tested alone"):
        audit("examples.tiny_adapter:Tiny", "cpu", ("float64",), 60, False, limits)


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_run_whose_budget_ends_before_its_rules_are_tested_is_never_green(workers, tmp_path: Path):
    seen = run(tmp_path, LIFETIME, "--programs=270", "-n", workers)
    footer = seen.report.footer
    assert footer is not None
    assert (seen.code, footer.exit_code, footer.verdict) == (2, 2, "cut short")
    cut = [result for result in seen.report.results if result.verdict == "cut short"]
    assert cut
    assert 0 < footer.programs < 270
    assert f"CUT SHORT: the run's budget (--programs or --seconds) ended. {len(cut)} tests ran fewer" in seen.output
    assert "NO VERDICT" in seen.output


def test_a_failure_is_told_though_its_share_ends_while_it_is_shrunk(tmp_path: Path):
    framework, name = "evaluation.mutants.accumulation:Overwrites", "test_accumulation.py::test_adds"
    seen = run(tmp_path, f"suites/{name}", "--programs=40", "-n0", framework=framework)
    failed, *others = (result for result in seen.report.results if result.verdict == "fail")
    assert others == [] and failed.programs <= 40
    assert [failure.rule for failure in seen.report.failures] == ["accumulation/adds"]


def test_a_limited_run_reaches_its_tests_although_the_audit_does_not_end(tmp_path: Path):
    seen = run(tmp_path, LIFETIME, "--seconds=40", framework="tests.frameworks.adapters.wrong:Slower")
    footer = seen.report.footer
    assert footer is not None
    assert seen.code == 2
    assert footer.verdict in ("cut short", "interrupted")  # on a slow machine the tests do not end, either
    assert footer.reason in ("the run's budget (--programs or --seconds) ended", "the run's time (--seconds) was over")
    left = "could not run alone before the tests in their part of the run's budget"
    assert any(left in note for note in footer.notes)


def test_a_budget_that_ends_in_the_audit_leaves_a_report(tmp_path: Path):
    seen = run(tmp_path, LIFETIME, "--seconds=0.1", framework="tests.frameworks.adapters.wrong:Slow")
    footer = seen.report.footer
    assert footer is not None
    assert (seen.code, footer.verdict, footer.programs) == (2, "interrupted", 0)
    assert footer.reason == "the budget of seconds ended while each op was tested alone, before the tests"
    assert footer.cut_in_audit == "seconds"
    assert f"INTERRUPTED: {footer.reason}." in (tmp_path / "report.md").read_text()


def test_a_budget_that_suffices_changes_nothing(tmp_path: Path):
    few, free = (
        run(tmp_path / "few", LIFETIME, "--programs=90000", "--hypothesis-seed=1"),
        run(tmp_path / "free", LIFETIME, "--hypothesis-seed=1"),
    )
    assert (few.code, free.code) == (0, 0)
    assert [replace(r, seconds=0) for r in few.report.results] == [replace(r, seconds=0) for r in free.report.results]
    assert few.report.footer is not None
    assert few.report.footer.verdict == "complete"


# -- what is concluded -----------------------------------------------------------------------------------------------


def cut(programs: int, exercised: int) -> Report:
    footer = replace(FOOTER, verdict="cut short", reason="the run's budget (--programs or --seconds) ended")
    counts = {PASSES[0].rule: exercised}
    first = replace(PASSES[0], verdict="cut short", programs=programs, exercised=counts)
    return replace(SOUND, results=(first, *PASSES[1:]), footer=footer)


def test_rules_that_were_really_tested_within_a_budget_have_a_verdict():
    summary = summarize(cut(30, 30))
    assert summary.conclusion == "conformant"
    assert incomplete_notice(cut(30, 30)).startswith("CUT SHORT: the run's budget")


@pytest.mark.parametrize(("programs", "exercised"), [(0, 0), (0, 30), (19, 19)])
def test_rules_that_were_not_have_none(programs, exercised):
    summary = summarize(cut(programs, exercised))
    assert summary.conclusion == "no verdict"
    assert summary.rules[0].verdict == "vacuous"


# -- stages ----------------------------------------------------------------------------------------------------------


def staged(*stages: tuple[float, int]) -> list[Demand]:
    """Demands of tests that each need 20 of their 60 programs first, in stages of a weight and a number of tests."""
    return [Demand(60, 20, weight / tests, at) for at, (weight, tests) in enumerate(stages) for _ in range(tests)]


def shares(programs: int, demanded: list[Demand]) -> list[float]:
    budget, found = Budget(Limits(programs), 1, demanded), []
    for test in range(len(demanded)):
        found.append(budget.share(test).programs)
        budget.used(test, int(found[-1]), 0)
    return found


def test_a_budget_that_is_too_small_for_all_stages_suffices_for_the_first_ones():
    assert shares(50, staged((1, 2), (1, 1), (1, 3))) == [20, 20, 10, 0, 0, 0]
    assert shares(30, staged((1, 4), (1, 1))) == [8, 7, 8, 7, 0], "a stage that does not fit is spread over its rules"


def test_what_is_left_is_spread_over_stages():
    first, *others = shares(300, staged((1, 1), (1, 9)))
    assert (first, sum(others)) == (20 + 50, 9 * 20 + 50) and {*others} == {25, 26}
    assert shares(60, staged((1e-6, 1), (1, 1))) == [20, 40], "a stage may have only what others leave"


def test_a_stage_may_take_half_of_the_time_until_its_rules_are_tested():
    budget = Budget(Limits(deadline=time.monotonic() + 100), 1, staged((1, 1), (1, 1), (1, 2)))
    share = budget.share(0)
    assert 32 < share.until - time.monotonic() < 34 and 49 < share.first_until - time.monotonic() < 51
    last = budget.share(3)
    assert last.until - time.monotonic() > 99, "the last stage has all that is left"


def test_a_test_whose_time_earlier_ones_of_its_stage_used_is_left_out(monkeypatch: pytest.MonkeyPatch):
    now = 1_000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    budget = Budget(Limits(deadline=1_100), 1, staged((1, 10), (1, 1)))
    ran = []
    for test in range(11):
        if not budget.share(test).spent(0, tested=False):
            ran.append(test)
            now += 12  # a single program takes longer than the time of a test
            budget.used(test, 1, 12)
    assert ran == [0, 2, 4, 7, 9, 10], "some tests of the first stage run until half of the time is used"


def test_a_failure_that_takes_long_leaves_no_other_test_out(monkeypatch: pytest.MonkeyPatch):
    now = 1_000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    budget = Budget(Limits(deadline=1_100), 1, [Demand(20, 1)] * 40)
    for test, (seconds, explaining) in enumerate([(0.02, 0), (0.02, 30), *[(0.02, 0)] * 38]):
        assert not budget.share(test).spent(0, tested=False), test
        now += seconds + explaining
        budget.used(test, 1, seconds)


SECONDS = "tests.frameworks.adapters.broken:Seconds"


@pytest.mark.parametrize("framework", [SECONDS, "tests.frameworks.adapters.seconds:TorchSeconds"])
def test_a_slow_framework_ends_with_a_verdict_on_the_first_stages(tmp_path: Path, framework: str):
    seconds = scaled_timeout(120)  # on a busy machine, starting the processes alone takes longer
    seen = run(tmp_path, "suites", f"--seconds={seconds:.0f}", "-n1", framework=framework)
    footer = seen.report.footer
    assert footer is not None
    assert seen.code == 2 and footer.cut_in_audit is None and footer.programs > 5
    first, second, *_ = summarize(seen.report).stages
    assert first.state in ("holds", "holds so far") and second.state in ("holds", "holds so far")
    assert summarize(seen.report).climb.startswith("Stage")


def test_a_slow_frameworks_ops_run_in_batches_the_usual_ones_first():
    began = time.monotonic()
    found = audit(SECONDS, "cpu", ("float64", "float32"), 60, False, slow=True, until=began + 300)
    assert {op: note.outcome for op, note in found.notes.items()} == dict.fromkeys(Tiny.ops, "fine")
    assert found.found.programs < 20, "two batches, and an op that cannot be in one"


def test_the_audit_leaves_programs_for_the_tests():
    whole = audit("examples.tiny_adapter:Tiny", "cpu", ("float64",), 60, False, Limits(10_000))
    most = whole.found.programs // 2
    part = audit("examples.tiny_adapter:Tiny", "cpu", ("float64",), 60, False, Limits(10_000), most=most)
    assert 0 < part.found.programs <= most
    assert 0 < len(part.notes) < len(whole.notes), "the ops that it did not come to are untried"
    assert all(note == whole.notes[op] for op, note in part.notes.items())
