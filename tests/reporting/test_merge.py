"""Merged runs have sums of counts, the worst verdicts and all distinct failures; incompatible runs are rejected."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from autograd_conformance.reporting import command
from autograd_conformance.reporting.analysis.summary import incomplete_notice
from autograd_conformance.reporting.merging.compatibility import IncompatibleRuns, kind
from autograd_conformance.reporting.merging.failures import (
    SHAPES,
    MergedFailures,
    Occurrences,
    failure_key,
    program_key,
)
from autograd_conformance.reporting.merging.merge import MergedRuns
from autograd_conformance.reporting.records.failure import Category, Failure
from autograd_conformance.reporting.records.records import Behaviour, CoverageSetting, Footer, Report
from autograd_conformance.reporting.records.stream import read, records, write
from autograd_conformance.reporting.records.terms import Outcome
from tests.reporting.miniatures import (
    BEHAVIOUR,
    CLAIM,
    CLAIMS,
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
    written,
)

OTHER = replace(HEADER, seed=8, started="2026-02-03T00:00:00Z", platform="Darwin arm64")
FIRST = Report(HEADER, RULES, PASSES[:1], (), replace(FOOTER, deselected=2, tests=1))
SECOND = Report(OTHER, RULES, PASSES[1:], (FAILURE,), replace(FOOTER, deselected=1, tests=2, exit_code=1))


SPARED = Behaviour(instruction="detach", allowed=BEHAVIOUR.allowed, seen={"returns": 1})


def of(seed: int, **changes: object) -> Report:
    return replace(SOUND, header=replace(HEADER, seed=seed), **changes)  # type: ignore[arg-type]


def merged(*reports: Report, shapes: int | None = None) -> MergedRuns:
    found = MergedRuns(shapes)
    for report in reports:
        found.add(report)
    return found


def summed(*reports: Report) -> Report:
    return merged(*reports).report()


def footer_of(*reports: Report) -> Footer:
    footer = summed(*reports).footer
    assert footer is not None
    return footer


def program(*steps: str, value: float = 1.0) -> dict[str, object]:
    return {"version": 1, "instructions": [{"do": step, "value": {"data": [value]}} for step in steps]}


def failing(lines: int, *steps: str, rule: str = FAILURE.rule, **changes: object) -> Failure:
    form = program(*steps, value=float(lines))
    return replace(FAILURE, rule=rule, program=form, code="\n".join("x" * lines), **changes)  # type: ignore[arg-type]


def test_shards_together_are_the_whole_run() -> None:
    whole = summed(FIRST, SECOND)
    assert (whole.results, whole.failures) == (PASSES, (FAILURE,))
    assert whole.footer is not None
    assert (whole.footer.tests, whole.footer.deselected, whole.footer.exit_code) == (len(PASSES), 0, 1)
    assert (whole.header.seed, whole.header.platform) == (None, "Darwin arm64, Linux x86_64")
    assert summed(SECOND, FIRST) == replace(whole, results=(*PASSES[1:], *PASSES[:1]))
    assert summed(FIRST, replace(SECOND, header=HEADER)).header.seed == HEADER.seed, "they had one seed"


def test_what_is_counted_is_added_up(tmp_path: Path) -> None:
    more = replace(KNOWN, seen=5, ended=2)
    found = summed(
        of(3, known=(KNOWN, KNOWN), coverage=(COVERAGE,), behaviours=(BEHAVIOUR,)),
        of(2, known=(more, more), coverage=(COVERAGE, RARE), claims=CLAIMS, behaviours=(BEHAVIOUR, SPARED)),
    )
    assert found.programs == 2 * SOUND.programs
    assert [each.exercised for each in found.results] == [{rule.rule: 200} for rule in RULES]
    assert [(each.seen, each.ended) for each in found.known] == [(17, 2)] * 2, "equal entries of one run stay two"
    assert found.claims == CLAIMS
    assert found.behaviours == (replace(BEHAVIOUR, seen={"graph freed": 6, "returns": 24}), SPARED)
    assert [each.op for each in found.coverage] == ["kron", "sin"]
    assert found.coverage[1].met == (
        CoverageSetting("float32", False, {"backward": 4}),
        CoverageSetting("float64", True, {"backward": 10, "step": 2}),
    )
    assert found.footer is not None
    assert (found.footer.seconds, found.footer.programs, found.footer.tests) == (120.0, 600, 3)
    assert (found.header.seed, found.header.profile) == (None, HEADER.profile)
    write(found, tmp_path / "records.jsonl")
    assert read(tmp_path / "records.jsonl") == found, "it is a sound report"


def test_a_claim_is_shown_as_a_run_shows_it_that_tried_it() -> None:
    untold = replace(CLAIM, observed="unknown", programs=())
    absent = replace(CLAIM, observed="not run", programs=())
    for order in permutations([absent, untold, CLAIM]):
        assert summed(*(of(n, claims=(claim,)) for n, claim in enumerate(order))).claims == (CLAIM,)
    assert summed(of(1, claims=(absent,)), of(2, claims=(untold,))).claims == (untold,)


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


def test_verdicts_of_rules_are_those_of_all_programs() -> None:
    """In each single run too few programs exercise the rule."""
    few = tuple(replace(each, programs=10, exercised={each.rule: 10}, verdict="cut short") for each in PASSES)
    assert set(verdicts(of(1, results=few)).values()) == {"vacuous"}
    assert set(verdicts(summed(of(1, results=few), of(2, results=few))).values()) == {"pass"}


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (replace(SECOND, header=replace(OTHER, suite="0.2")), "suite: 0.1 and 0.2"),
        (replace(SECOND, header=replace(OTHER, device="cuda")), "device: cpu and cuda"),
        (replace(SECOND, header=replace(OTHER, framework=replace(HEADER.framework, version="2"))), "framework: toy"),
        (replace(SECOND, header=replace(OTHER, framework=replace(HEADER.framework, ops=1))), "claims"),
        (replace(SECOND, header=replace(OTHER, strict=True)), "strictness"),
        (replace(SECOND, rules=RULES[:-1], results=()), "rules"),
        (replace(SECOND, footer=None), "killed"),
        (FIRST, "count twice"),
        (replace(SOUND, header=replace(OTHER, seed=HEADER.seed)), "count twice: suites/test_lifetime.py::0$"),
    ],
)
def test_an_incompatible_run_is_rejected_and_changes_nothing(other: Report, what: str) -> None:
    found = merged(FIRST)
    with pytest.raises(IncompatibleRuns, match=what):
        found.add(other)
    found.add(SECOND)
    assert found.report() == summed(FIRST, SECOND)


def test_a_run_without_footer_is_refused_where_it_is_the_first() -> None:
    with pytest.raises(IncompatibleRuns, match="killed"):
        merged(replace(FIRST, footer=None))


def test_runs_of_one_kind_can_be_added_up_and_of_other_dtypes_too() -> None:
    single = replace(HEADER, dtypes=("float64",), seed=9)
    assert summed(FIRST, replace(SOUND, header=single)).header.dtypes == ("float32", "float64")
    others = [
        replace(HEADER, framework=replace(HEADER.framework, version="9")),
        replace(HEADER, framework=replace(HEADER.framework, capabilities=())),
        replace(HEADER, device="cuda"),
        replace(HEADER, suite="0.2"),
        replace(HEADER, strict=True),
        single,
    ]
    assert len({kind(header) for header in (HEADER, *others)}) == 1 + len(others), "a campaign reports on each"
    assert kind(OTHER) == kind(HEADER)


def test_different_environments_are_all_listed() -> None:
    other = replace(OTHER, python="3.12.1", profile="thorough", workers=2, packages={"numpy": "2.2", "torch": "2.13"})
    header = summed(FIRST, replace(SECOND, header=other)).header
    assert (header.python, header.profile) == ("3.11.9, 3.12.1", "quick, thorough")
    assert header.packages == {"numpy": "2.2, 2.3.1", "torch": "2.13"}
    assert (header.workers, header.started) == (HEADER.workers, HEADER.started)


def test_the_sum_ends_as_the_worst_of_the_runs() -> None:
    short = replace(FOOTER, verdict="cut short", reason="the budget ended", exit_code=2)
    stopped = replace(FOOTER, verdict="interrupted", reason="Ctrl-C", not_run=5, finished="2027")
    for order in permutations([FOOTER, short, stopped]):
        footer = footer_of(*(of(n, footer=footer) for n, footer in enumerate(order)))
        assert (footer.verdict, footer.reason) == ("interrupted", "Ctrl-C")
        assert (footer.exit_code, footer.finished) == (2, "2027")
        assert footer.not_run == 5
    assert footer_of(of(1, footer=FOOTER), of(2, footer=short)).verdict == "cut short"
    assert incomplete_notice(summed(of(1), of(2, footer=short))) == "CUT SHORT: the budget ended."


def test_a_test_that_another_run_ran_was_run() -> None:
    stopped = replace(FOOTER, verdict="interrupted", not_run=2, tests=1)
    footer = footer_of(of(1, results=PASSES[:1], footer=stopped), of(2))
    assert (footer.tests, footer.not_run, footer.deselected) == (3, 0, 0)
    footer = footer_of(of(1, results=PASSES[:1], footer=stopped), of(2, results=PASSES[:2]))
    assert (footer.tests, footer.not_run, footer.deselected) == (2, 1, 0)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [written(tmp_path / f"{n}.jsonl", *records(each)) for n, each in enumerate((FIRST, SECOND))]
    out = tmp_path / "made" / "whole.jsonl"
    assert command.main(["combine", str(out), *map(str, files)]) == 0
    assert read(out) == summed(FIRST, SECOND)
    assert command.main(["combine", str(out), str(files[0]), str(files[0])]) == command.USAGE
    assert capsys.readouterr().err.startswith(f"reports: {files[0]}: two runs have the same seed")
    assert read(out) == summed(FIRST, SECOND)


def test_all_programs_are_kept_once_without_a_limit_on_shapes() -> None:
    again = replace(SECOND, header=replace(OTHER, seed=9))
    assert summed(SECOND, again).failures == (FAILURE,)
    other_value = {"version": 1, "instructions": [{"do": "leaf", "value": {"data": [2.5]}}]}
    same_shape = replace(again, failures=(replace(FAILURE, program=other_value),))
    both = [replace(SECOND, failures=(replace(FAILURE, program=program("leaf")),)), same_shape]
    assert len(summed(*both).failures) == 2
    assert len(merged(*both, shapes=SHAPES).report().failures) == 1
    many = [of(n, failures=(failing(n, *["leaf"] * n),)) for n in range(1, 3 * SHAPES)]
    assert len(summed(*many).failures) == len(many)
    assert len(merged(*many, shapes=SHAPES).report().failures) == SHAPES
    (cause,) = merged(*many).causes()
    assert merged(*many).failures.occurrences(cause).times == len(many)


def test_the_shortest_program_and_the_lowest_seed_are_kept() -> None:
    for order in permutations([(5, 30), (2, 12), (9, 12)]):
        found = MergedFailures()
        assert [found.add(failing(lines, "leaf", "backward"), seed) for seed, lines in order] == [True, False, False]
        (kept,) = found.failures
        assert len(kept.code.splitlines()) == 12
        assert found.seed(kept) == 2
        (cause,) = found.causes({})
        assert found.occurrences(cause) == Occurrences(3, 2)


def test_failures_are_distinguished_by_rule_op_symptom_diagnosis_error_and_structure() -> None:
    first = failing(3, "leaf", "backward")
    raised = Category("wrong error", "raised", "unknown")
    others = [
        failing(3, "leaf", "add", "backward"),
        replace(first, rule="gradients/op"),
        replace(first, op="exp"),
        replace(first, verdict="flaky"),
        replace(first, diagnosis="another fault"),
        replace(first, deviation=raised, observed="TypeError: a"),
        replace(first, deviation=raised, observed="TypeError: b"),
        replace(first, deviation=Category("form", "other dtype")),
    ]
    found = MergedFailures()
    assert [found.add(each, 1) for each in (first, *others)] == [True] * (1 + len(others))
    assert len({failure_key(each) for each in (first, *others)}) == 1 + len(others)
    assert failure_key(failing(9, "leaf", "backward")) == failure_key(first)
    assert program_key(failing(9, "leaf", "backward")) != program_key(first), "its numbers are others"


def test_of_many_shapes_the_shortest_are_kept_and_all_are_counted() -> None:
    shapes = [failing(lines, *["leaf"] * lines) for lines in range(1, 3 * SHAPES)]
    for order in (shapes, shapes[::-1]):
        found = MergedFailures()
        for seed, failure in enumerate(order):
            found.add(failure, seed)
        assert sorted(len(each.code.splitlines()) for each in found.failures) == list(range(1, SHAPES + 1))
        (cause,) = found.causes({})
        assert found.occurrences(cause).times == len(shapes)


def test_a_failure_without_a_program_is_kept() -> None:
    assert summed(of(1, failures=(CRASH,)), of(2, failures=(CRASH,))).failures == (CRASH,)
    assert FOOTER.programs == SOUND.programs
