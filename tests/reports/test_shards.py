"""Reports added up: sums of what can be added, the worst of verdicts, and failures told apart over all runs."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from autograd_conformance.reports.findings import SHAPES, Findings, Seen, digest, likeness
from autograd_conformance.reports.records import Deviation, Failure, Outcome, Report, Setting
from autograd_conformance.reports.shards import Merged, merged
from autograd_conformance.reports.stream import read, write
from tests.reports.miniatures import (
    BROKEN,
    CLAIM,
    COVERAGE,
    CRASH,
    FAILURE,
    FOOTER,
    HEADER,
    KNOWN,
    PASSES,
    RARE,
    RULES,
    SOUND,
    verdicts,
)


def of(seed: int, **changes: object) -> Report:
    return replace(SOUND, header=replace(HEADER, seed=seed), **changes)  # type: ignore[arg-type]


def summed(*reports: Report) -> Report:
    (found,) = merged(reports)
    return found.report()


def program(*steps: str, value: float = 1.0) -> dict[str, object]:
    return {"version": 1, "instructions": [{"do": step, "value": {"data": [value]}} for step in steps]}


def failing(lines: int, *steps: str, rule: str = FAILURE.rule, **changes: object) -> Failure:
    form = program(*steps, value=float(lines))
    return replace(FAILURE, rule=rule, program=form, code="\n".join("x" * lines), **changes)  # type: ignore[arg-type]


def test_what_is_counted_is_added_up(tmp_path: Path) -> None:
    more = replace(KNOWN, seen=5, ended=2)
    found = summed(
        of(3, known=(KNOWN,), coverage=(COVERAGE,)),
        of(2, known=(more,), coverage=(COVERAGE, RARE), claims=(CLAIM,)),
    )
    assert found.programs == 2 * SOUND.programs
    assert [each.exercised for each in found.results] == [{rule.rule: 200} for rule in RULES]
    assert [(each.seen, each.ended) for each in found.known] == [(17, 2)]
    assert found.claims == (CLAIM,)
    assert [each.op for each in found.coverage] == ["kron", "sin"]
    assert found.coverage[1].met == (
        Setting("float32", False, {"backward": 4}),
        Setting("float64", True, {"backward": 10, "step": 2}),
    )
    assert found.footer is not None
    assert (found.footer.seconds, found.footer.programs, found.footer.tests) == (120.0, 600, 3)
    assert (found.header.seed, found.header.profile) == (None, "campaign of 2 runs")
    write(found, tmp_path / "records.jsonl")
    assert read(tmp_path / "records.jsonl") == found, "it is a sound report"


@pytest.mark.parametrize(
    ("each", "together"),
    [
        (("cut short", "cut short"), "pass"),
        (("pass", "cut short"), "pass"),
        (("not applicable", "pass"), "pass"),
        (("pass", "known difference"), "known difference"),
        (("known difference", "fail", "pass"), "fail"),
        (("error", "pass"), "error"),
        (("timeout", "crash"), "crash"),
        (("not applicable", "not applicable"), "not applicable"),
    ],
)
def test_the_verdict_of_a_test_is_the_worst(each: tuple[Outcome, ...], together: Outcome) -> None:
    for order in permutations(each):
        results = [replace(PASSES[0], verdict=verdict, reason=verdict) for verdict in order]
        (result,) = summed(*(of(n, results=(result,)) for n, result in enumerate(results))).results
        assert result.verdict == together
        assert result.reason == (None if together == "pass" else together)


def test_a_test_that_no_run_came_to_is_cut_short() -> None:
    nothing = replace(PASSES[0], verdict="cut short", programs=0, exercised={}, reason="the budget ended")
    (result,) = summed(of(1, results=(nothing,)), of(2, results=(nothing,))).results
    assert (result.verdict, result.reason) == ("cut short", "the budget ended")


def test_only_what_is_alike_is_added_up() -> None:
    others = [
        replace(HEADER, framework=replace(HEADER.framework, version="9")),
        replace(HEADER, device="cuda"),
        replace(HEADER, dtypes=("float64",)),
        replace(HEADER, suite="0.2"),
    ]
    found = merged([SOUND, *(replace(SOUND, header=header) for header in others), SOUND])
    assert [each.runs for each in found] == [2, 1, 1, 1, 1]


def test_what_is_missing_makes_it_cut_short() -> None:
    found = Merged()
    found.add(BROKEN)
    footer = found.report("half is done").footer
    assert footer is not None
    assert (footer.verdict, footer.reason, footer.exit_code) == ("cut short", "half is done", 1)


def test_verdicts_of_rules_are_those_of_all_programs() -> None:
    """In one run a rule was exercised too seldom."""
    few = tuple(replace(each, programs=10, exercised={each.rule: 10}, verdict="cut short") for each in PASSES)
    assert set(verdicts(of(1, results=few)).values()) == {"vacuous"}
    assert set(verdicts(summed(of(1, results=few), of(2, results=few))).values()) == {"pass"}


def test_the_shortest_program_is_kept_and_the_first_seed_told() -> None:
    for order in permutations([(5, 30), (2, 12), (9, 12)]):
        found = Findings()
        assert [found.add(failing(lines, "leaf", "backward"), seed) for seed, lines in order] == [True, False, False]
        (kept,) = found.failures
        assert len(kept.code.splitlines()) == 12
        assert found.seed(kept) == 2
        (cause,) = found.causes({})
        assert found.seen(cause) == Seen(3, 2)


def test_failures_are_told_apart_by_rule_op_way_fault_error_and_shape() -> None:
    first = failing(3, "leaf", "backward")
    raised = Deviation("wrong error", "raised", "unknown")
    others = [
        failing(3, "leaf", "add", "backward"),
        replace(first, rule="gradients/op"),
        replace(first, op="exp"),
        replace(first, verdict="flaky"),
        replace(first, diagnosis="another fault"),
        replace(first, deviation=raised, observed="TypeError: a"),
        replace(first, deviation=raised, observed="TypeError: b"),
        replace(first, deviation=Deviation("form", "other dtype")),
    ]
    found = Findings()
    assert [found.add(each, 1) for each in (first, *others)] == [True] * (1 + len(others))
    assert len({likeness(each) for each in (first, *others)}) == 1 + len(others)
    assert likeness(failing(9, "leaf", "backward")) == likeness(first)
    assert digest(failing(9, "leaf", "backward")) != digest(first), "its numbers are others"


def test_of_many_shapes_the_shortest_are_kept_and_all_are_counted() -> None:
    shapes = [failing(lines, *["leaf"] * lines) for lines in range(1, 3 * SHAPES)]
    for order in (shapes, shapes[::-1]):
        found = Findings()
        for seed, failure in enumerate(order):
            found.add(failure, seed)
        assert sorted(len(each.code.splitlines()) for each in found.failures) == list(range(1, SHAPES + 1))
        (cause,) = found.causes({})
        assert found.seen(cause).times == len(shapes)


def test_a_failure_without_a_program_is_kept() -> None:
    assert summed(of(1, failures=(CRASH,)), of(2, failures=(CRASH,))).failures == (CRASH,)
    assert FOOTER.programs == SOUND.programs
