"""The documents repeat the tables of verdicts, headlines and exit codes; only three headlines have exit code 0."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograd_conformance.plugin import replay
from autograd_conformance.reporting import command
from autograd_conformance.reporting.analysis.rule_verdicts import ORDER, selected
from autograd_conformance.reporting.analysis.summary import exit_code, summarize
from autograd_conformance.reporting.analysis.verdicts import (
    EXIT_CODES,
    HEADLINES,
    MEANING_OF,
    THRESHOLD,
    VERDICTS,
    Exit,
    codes_table,
    headlines_table,
    verdicts_table,
)
from autograd_conformance.reporting.records.records import KnownRecord, Report, Result
from autograd_conformance.reporting.records.terms import FAILURE_VERDICTS, INCONCLUSIVE, Conclusion, Outcome, Verdict
from autograd_conformance.reporting.render import badge, brief, markdown, terminal
from autograd_conformance.reporting.site.matrix import SIGNS
from tests.reporting.miniatures import AGAIN, FAILURE, FOOTER, OP, PASSES, RAISES, RULES, SOUND, verdicts

ROOT = Path(__file__).parents[3]
GOOD = {"conformant", "conformant with known differences", "selection passed"}
"""The headlines with exit code 0."""


# --- the table --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "table"),
    [
        ("README.md", codes_table()),
        ("docs/reading_a_report.md", codes_table()),
        ("docs/reading_a_report.md", headlines_table()),
        ("docs/reading_a_report.md", verdicts_table()),
    ],
    ids=["README, codes", "docs, codes", "docs, headlines", "docs, words"],
)
def test_documents_say_what_the_table_says(document: str, table: list[str]) -> None:
    lines = (ROOT / document).read_text(encoding="utf-8").splitlines()
    assert table[0] in lines
    start = lines.index(table[0])
    end = next((at for at in range(start, len(lines)) if not lines[at].startswith("|")), len(lines))
    assert lines[start:end] == table


def test_every_word_headline_and_code_has_one_row() -> None:
    assert sorted(MEANING_OF) == sorted({*get_args(Verdict), *get_args(Outcome)}) and len(VERDICTS) == len(MEANING_OF)
    assert sorted(each.conclusion for each in HEADLINES) == sorted(get_args(Conclusion))
    assert [each.code for each in EXIT_CODES] == sorted(Exit)
    assert {each.verdict for each in VERDICTS if each.is_failure} == set(FAILURE_VERDICTS)
    undecided = {each.verdict for each in VERDICTS if each.prevents_verdict}
    assert {*INCONCLUSIVE, "vacuous", "waiting", "not reached"} == undecided


def test_every_word_and_headline_can_be_shown() -> None:
    assert set(ORDER) == set(SIGNS) == set(terminal.STYLES) == set(get_args(Verdict))
    assert set(get_args(Conclusion)) == set(badge.COLOURS) == set(badge.SIGNS) == set(terminal.HEADLINES)
    styles = (ROOT / "src/autograd_conformance/reporting/site/static/site.css").read_text(encoding="utf-8")
    assert all(f".{each.replace(' ', '-')} {{" in styles for each in get_args(Conclusion))


def test_a_passed_verdict_is_applicable_and_allows_a_conclusion() -> None:
    for each in VERDICTS:
        assert each.applicable >= each.passed and each.all >= each.applicable
        assert (each.passed, each.is_failure, each.prevents_verdict).count(True) <= 1


def test_codes_elsewhere_are_those_of_the_table() -> None:
    found = {int(code): word for word, code in replay.CODES.items()}
    assert {each.code: each.replay for each in EXIT_CODES if each.replay} == found | {2: "stopped", 10: "adapter error"}
    assert {command.INVALID, command.USAGE, command.CHANGED, 0} == {each.code for each in EXIT_CODES if each.report}


# --- codes and headlines ----------------------------------------------------------------------------------------------


def _code(report: Report, status: int = 0) -> int:
    assert report.footer is not None
    return exit_code(summarize(report), report.footer, status)


def _result(at: int, verdict: Outcome) -> Result:
    ran = verdict not in ("not applicable", "vacuous", "skipped")
    return replace(
        PASSES[at],
        verdict=verdict,
        programs=PASSES[at].programs if ran else 0,
        exercised=PASSES[at].exercised if ran and verdict not in INCONCLUSIVE else {},
    )


ENDINGS = st.sampled_from(["complete", "cut short", "interrupted"])


@st.composite
def reports(draw: st.DrawFn) -> Report:
    """An arbitrary run: any outcome or no result for each test, complete or not, of all tests or some."""
    chosen = [draw(st.one_of(st.none(), st.sampled_from(get_args(Outcome)))) for _ in PASSES]
    results = [_result(at, verdict) for at, verdict in enumerate(chosen) if verdict is not None]
    few = draw(st.booleans())
    results = [replace(each, exercised={each.rule: 3}) if few and each.exercised else each for each in results]
    footer = replace(
        FOOTER,
        verdict=draw(ENDINGS),
        deselected=draw(st.integers(0, 2)),
        selection=draw(st.booleans()),
    )
    levels = draw(st.sampled_from([("MUST", "MUST", "MUST"), ("MUST", "SHOULD", "INFO"), ("SHOULD",) * 3]))
    rules = tuple(replace(rule, level=level) for rule, level in zip(RULES, levels, strict=True))
    known = (KnownRecord(rule=OP, reason="it is so", seen=draw(st.integers(0, 3))),) if draw(st.booleans()) else ()
    return replace(
        SOUND,
        header=replace(SOUND.header, strict=draw(st.booleans())),
        rules=rules,
        results=tuple(results),
        failures=(FAILURE,) if draw(st.integers(0, 5)) == 0 else (),
        footer=footer,
        known=known,
    )


@given(report=reports(), status=st.sampled_from([0, 1, 5]))
def test_exit_code_0_has_a_matching_headline(report: Report, status: int) -> None:
    summary, code = summarize(report), _code(report, status)
    must = {each.rule.rule: each.verdict for each in summary.rules if each.rule.level == "MUST"}
    if code == Exit.PASSED:
        assert summary.conclusion in GOOD
        assert not any(
            MEANING_OF[verdict].is_failure or MEANING_OF[verdict].prevents_verdict for verdict in must.values()
        )
        assert any(verdict in ("pass", "known difference") for verdict in must.values())
        assert report.footer is not None and report.footer.verdict != "interrupted"
        assert not any(
            result.verdict in (*FAILURE_VERDICTS, *INCONCLUSIVE) and result.rule in must for result in report.results
        )
        assert (summary.conclusion == "selection passed") == selected(report)
    if summary.conclusion == "not conformant":
        assert code == Exit.NOT_CONFORMANT
    if summary.conclusion == "no verdict":
        assert code in (Exit.STOPPED, Exit.NOTHING_SELECTED, Exit.NO_VERDICT)
    if any(MEANING_OF[verdict].is_failure for verdict in must.values()):
        assert code == Exit.NOT_CONFORMANT


@given(report=reports())
def test_every_page_can_be_made_of_it(report: Report) -> None:
    summary = summarize(report)
    assert summary.conclusion.capitalize() in markdown.render(report)
    assert summary.conclusion in brief.render(report)
    assert badge.SIGNS[summary.conclusion] in badge.message(summary)


@pytest.mark.parametrize("status", [2, 3, 4, 10])
def test_what_stopped_a_run_names_its_code(status: int) -> None:
    assert _code(SOUND, status) == status


def test_a_failing_test_of_somebody_elses_is_not_hidden() -> None:
    assert (_code(SOUND, 0), _code(SOUND, 1)) == (0, 1)


def test_a_failure_that_a_plugin_hid_from_pytest_is_not_hidden() -> None:
    assert _code(replace(SOUND, failures=(FAILURE,)), 0) == Exit.NOT_CONFORMANT


@pytest.mark.parametrize(
    ("ending", "code"), [("complete", Exit.NO_VERDICT), ("cut short", Exit.STOPPED), ("interrupted", Exit.STOPPED)]
)
def test_no_verdict_says_whether_the_run_was_complete(ending: str, code: int) -> None:
    few = replace(PASSES[1], exercised={AGAIN: 3})
    footer = replace(FOOTER, verdict=ending)  # type: ignore[arg-type]
    assert _code(replace(SOUND, results=(PASSES[0], few, PASSES[2]), footer=footer)) == code


def test_nothing_selected_is_no_verdict_of_its_own_code() -> None:
    assert _code(replace(SOUND, results=()), Exit.NOTHING_SELECTED) == Exit.NOTHING_SELECTED
    assert _code(replace(SOUND, results=()), 0) == Exit.NO_VERDICT


# --- selections -------------------------------------------------------------------------------------------------------

SELECTION = replace(SOUND, footer=replace(FOOTER, selection=True))


def _selected(results: Iterable[Result]) -> Report:
    return replace(SELECTION, results=tuple(results))


def test_a_selection_of_whole_rules_passes_and_leaves_the_others_out() -> None:
    report = _selected(PASSES[:1])
    assert verdicts(report) == {RAISES: "pass", AGAIN: "skipped", OP: "skipped"}
    summary = summarize(report)
    assert (summary.conclusion, str(summary.total), _code(report)) == ("selection passed", "1 / 3 / 3", 0)
    assert "passes 1 of 3 applicable MUST rules, in 100 programs" in summary.sentence
    assert "not a verdict on the framework" in summary.sentence


@pytest.mark.parametrize("footer", [replace(FOOTER, deselected=1), replace(FOOTER, selection=True)])
def test_a_run_of_every_rule_is_a_selection_all_the_same(footer: object) -> None:
    report = replace(SOUND, footer=footer)  # type: ignore[arg-type]
    assert (summarize(report).conclusion, _code(report)) == ("selection passed", 0)


def test_what_somebody_skips_makes_a_selection() -> None:
    report = replace(SOUND, results=(*PASSES[:2], _result(2, "skipped")))
    assert verdicts(report)[OP] == "skipped"
    assert summarize(report).conclusion == "selection passed"


@pytest.mark.parametrize("verdict", ["skipped", "not applicable", "vacuous"])
def test_a_run_all_of_whose_tests_are_skipped_has_no_verdict(verdict: Outcome) -> None:
    for footer in (FOOTER, replace(FOOTER, selection=True)):
        report = replace(SOUND, results=tuple(_result(at, verdict) for at in range(3)), footer=footer)
        assert (summarize(report).conclusion, _code(report)) == ("no verdict", Exit.NO_VERDICT)


def test_a_rule_that_was_chosen_and_hardly_exercised_costs_the_selection() -> None:
    few = replace(PASSES[0], exercised={RAISES: THRESHOLD - 1})
    report = _selected([few, PASSES[1]])
    assert verdicts(report)[RAISES] == "vacuous"
    assert _code(report) == Exit.NO_VERDICT


@pytest.mark.parametrize(("exercised", "verdict"), [(1, "vacuous"), (2, "pass")])
def test_of_short_tests_each_has_to_exercise_the_rule(exercised: int, verdict: str) -> None:
    """Two of the hundred tests of a rule were selected, each of one op."""
    short = [replace(PASSES[2], test=f"t[{op}]", op=op, programs=6, exercised={}) for op in ("exp", "sin")]
    short[0] = replace(short[0], exercised={OP: exercised})
    assert verdicts(_selected(short))[OP] == verdict
    whole = replace(SOUND, results=tuple(short))
    assert verdicts(whole)[OP] == "vacuous"


def test_a_budget_lowers_no_threshold() -> None:
    short = replace(PASSES[2], programs=6, exercised={OP: 6}, verdict="cut short")
    assert verdicts(_selected([short]))[OP] == "vacuous"


def test_a_failure_in_a_selection_is_one() -> None:
    report = replace(_selected(PASSES[:1]), failures=(FAILURE,))
    assert (summarize(report).conclusion, _code(report)) == ("not conformant", 1)


def test_a_selection_with_known_differences_says_so() -> None:
    known = (KnownRecord(rule=RAISES, reason="it is so", seen=3),)
    report = replace(_selected([_result(0, "known difference"), PASSES[1]]), known=known)
    summary = summarize(report)
    assert summary.conclusion == "selection passed" and "except by 1 known difference" in summary.sentence


def test_a_selection_that_breaks_a_recommendation_says_so() -> None:
    rules = (RULES[0], replace(RULES[1], level="SHOULD"), RULES[2])
    summary = summarize(replace(SELECTION, rules=rules, failures=(replace(FAILURE, rule=AGAIN, level="SHOULD"),)))
    assert summary.conclusion == "selection passed"
    assert "It breaks 1 applicable SHOULD rule." in summary.sentence


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verdict", INCONCLUSIVE)
def test_a_test_that_went_wrong_says_nothing_about_the_framework(verdict: Outcome) -> None:
    result = replace(_result(1, verdict), reason="killed from outside")
    report = replace(SOUND, results=(PASSES[0], result, PASSES[2]))
    assert verdicts(report)[AGAIN] == verdict
    summary = summarize(report)
    assert (summary.conclusion, str(summary.total), _code(report, 1)) == ("no verdict", "2 / 3 / 3", Exit.NO_VERDICT)
    assert summary.rules[1].reason == "killed from outside"


@pytest.mark.parametrize("level", ["SHOULD", "INFO"])
@pytest.mark.parametrize("verdict", INCONCLUSIVE)
def test_so_it_is_for_rules_that_need_not_hold(verdict: Outcome, level: str) -> None:
    rules = (RULES[0], replace(RULES[1], level=level), RULES[2])  # type: ignore[arg-type]
    report = replace(SOUND, rules=rules, results=(PASSES[0], _result(1, verdict), PASSES[2]))
    assert "1 test of toytorch 1.2 ended in an error" in summarize(report).sentence
    assert _code(report, 1) == Exit.NO_VERDICT


@pytest.mark.parametrize("footer", [None, replace(FOOTER, verdict="interrupted", not_run=1)])
def test_a_rule_that_the_run_did_not_come_to_is_not_reached(footer: object) -> None:
    report = replace(SOUND, results=PASSES[:2], footer=footer)  # type: ignore[arg-type]
    assert verdicts(report)[OP] == "not reached"
    assert summarize(report).conclusion == "no verdict"


def test_a_complete_run_of_all_tests_in_which_a_rule_has_none_is_vacuous() -> None:
    report = replace(SOUND, results=PASSES[:2])
    assert verdicts(report)[OP] == "vacuous"
    assert _code(report) == Exit.NO_VERDICT


def test_a_rule_whose_situation_cannot_come_about_says_what_is_missing() -> None:
    rules = (*RULES[:2], replace(RULES[2], absent=("an op of several results", "an op in place")))
    summary = summarize(replace(SOUND, rules=rules, results=PASSES[:2]))
    assert summary.rules[2].verdict == "not applicable"
    assert summary.rules[2].reason == "needs an op of several results, an op in place"
    assert (summary.conclusion, str(summary.total)) == ("conformant", "2 / 2 / 3")


def test_a_rule_whose_programs_could_not_be_drawn_is_vacuous_with_the_reason() -> None:
    report = replace(SOUND, results=(*PASSES[:2], replace(_result(2, "vacuous"), reason="it needs exp")))
    summary = summarize(report)
    assert (summary.rules[2].verdict, summary.conclusion) == ("vacuous", "no verdict")
    assert summary.rules[2].reason == "no program could be drawn for it: it needs exp"


def test_a_strict_run_with_a_stale_entry_is_not_conformant() -> None:
    stale = replace(SOUND, known=(KnownRecord(rule=OP, reason="it is so", seen=0),))
    strict = replace(stale, header=replace(SOUND.header, strict=True))
    assert [_code(each) for each in (stale, strict)] == [0, 1]
    assert summarize(strict).conclusion == "not conformant"
    assert "A strict run fails because of 1 stale known difference." in summarize(strict).sentence


@pytest.mark.parametrize(("selection", "verdict"), list(product([True, False], FAILURE_VERDICTS)))
def test_what_is_wrong_is_wrong_however_it_was_run(selection: bool, verdict: Outcome) -> None:
    footer = replace(FOOTER, selection=selection)
    report = replace(SOUND, results=(_result(0, verdict), *PASSES[1:]), footer=footer)
    assert _code(report) == Exit.NOT_CONFORMANT
