"""Known differences count neither as failed nor as passed, are always shown, and are stale only on evidence."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from autograd_conformance.reporting.analysis.rule_verdicts import ORDER, by_attention
from autograd_conformance.reporting.analysis.summary import summarize
from autograd_conformance.reporting.records.records import KnownRecord, Report, Result
from autograd_conformance.reporting.records.terms import Outcome
from autograd_conformance.reporting.render import markdown
from autograd_conformance.reporting.render.terminal import ENTRIES
from tests.reporting.miniatures import (
    AGAIN,
    BROKEN,
    CRASH,
    KNOWN,
    OP,
    PASSES,
    RAISES,
    RULES,
    SOUND,
    shown,
    unescaped,
    verdicts,
)

MUL = replace(PASSES[2], test="t[mul]", op="mul")
HARDSIGMOID = replace(PASSES[2], test="t[hardsigmoid]", op="hardsigmoid", verdict="known difference")
UNSEEN = replace(KNOWN, seen=0)
RULEWIDE = KnownRecord(rule=RAISES, reason="documented otherwise", seen=0)
DIFFERING = replace(SOUND, results=(*PASSES[:2], MUL, HARDSIGMOID), known=(KNOWN,))


def status_of(known: KnownRecord, *results: Result) -> str:
    (entry,) = summarize(replace(SOUND, results=results, known=(known,))).known
    return entry.status


# --- verdicts ---------------------------------------------------------------------------------------------------------


def test_a_known_difference_is_neither_a_failure_nor_a_pass() -> None:
    summary = summarize(DIFFERING)
    assert verdicts(DIFFERING) == {RAISES: "pass", AGAIN: "pass", OP: "known difference"}
    assert summary.rules[2].reason == "hardsigmoid: its slope is 1/6 rounded to float32"
    assert summary.conclusion == "conformant with known differences"
    assert summary.sentence == (
        "toytorch 1.2 passes 2 of 3 applicable MUST rules, in 400 programs."
        " It breaks 1 rule only by listed exceptions (1 known difference)."
    )
    assert [str(each.total) for each in summary.families] == ["2 / 2 / 2", "0 / 1 / 1"]
    assert (str(summary.total), [each.failures for each in summary.families]) == ("2 / 3 / 3", [0, 0])


def test_a_result_or_an_observed_entry_is_enough_and_an_unobserved_entry_is_not() -> None:
    result_only, entry_only = replace(DIFFERING, known=()), replace(SOUND, known=(KNOWN,))
    assert verdicts(result_only)[OP] == verdicts(entry_only)[OP] == "known difference"
    assert summarize(result_only).rules[2].reason == "hardsigmoid: t[hardsigmoid] gave no reason"
    assert summarize(replace(SOUND, known=(UNSEEN, RULEWIDE))).conclusion == "conformant"


@pytest.mark.parametrize("verdict", ["fail", "crash", "timeout", "flaky", "error"])
def test_whatever_is_worse_goes_before_a_known_difference(verdict: Outcome) -> None:
    bad = replace(MUL, verdict=verdict, reason="it broke")
    summary = summarize(replace(DIFFERING, results=(*PASSES[:2], bad, HARDSIGMOID)))
    assert (summary.rules[2].verdict, summary.rules[2].reason) == (verdict, "it broke")
    assert summary.conclusion == ("no verdict" if verdict == "error" else "not conformant")


def test_a_failure_goes_before_a_known_difference_of_its_rule_and_its_op() -> None:
    summary = summarize(replace(DIFFERING, failures=(replace(CRASH, op="hardsigmoid"),)))
    assert (summary.rules[2].verdict, summary.conclusion) == ("crash", "not conformant")
    assert [(each.op, each.verdict) for each in summary.ops] == [("hardsigmoid", "crash"), ("mul", "pass")]
    assert "1 of 3 applicable MUST rules" in summary.sentence


def test_a_known_difference_needs_more_attention_than_a_vacuous_rule_and_less_than_an_error() -> None:
    assert ORDER.index("error") < ORDER.index("known difference") < ORDER.index("vacuous")
    idle = replace(PASSES[0], exercised={})
    summary = summarize(replace(DIFFERING, results=(idle, *PASSES[1:])))
    assert [each.verdict for each in by_attention(summary.rules)] == ["known difference", "vacuous", "pass"]
    barely = replace(HARDSIGMOID, programs=1, exercised={OP: 1})
    assert verdicts(replace(DIFFERING, results=(*PASSES[:2], barely)))[OP] == "known difference"


def test_an_unclaimed_capability_does_not_hide_an_observed_difference() -> None:
    rules = (*RULES[:2], replace(RULES[2], needs=("hooks",)))
    assert verdicts(replace(DIFFERING, rules=rules))[OP] == "known difference"
    assert verdicts(replace(DIFFERING, rules=rules, results=PASSES, known=(UNSEEN,)))[OP] == "not applicable"


def test_the_reason_names_each_difference_once_and_stays_short() -> None:
    again = replace(HARDSIGMOID, test="t[hardsigmoid-float32]", reason="given by the test")
    gelu = replace(HARDSIGMOID, op="gelu", reason="an approximation")
    results = (HARDSIGMOID, again, replace(HARDSIGMOID, op=None), gelu, replace(gelu, test="t[gelu-float32]"))
    other_rule = replace(KNOWN, rule=RAISES, op="gelu")
    report = replace(SOUND, results=(*PASSES[:2], *results), known=(KNOWN, other_rule))
    assert summarize(report).rules[2].reason == (
        "hardsigmoid: its slope is 1/6 rounded to float32; gelu: an approximation"
    )
    anywhere = replace(KNOWN, op=None)
    assert summarize(replace(report, known=(anywhere,))).rules[2].reason == anywhere.reason
    many = tuple(replace(KNOWN, op=f"op{n}", reason="long " * 90) for n in range(5))
    reason = summarize(replace(SOUND, known=many)).rules[2].reason
    assert reason is not None and len(reason) < 300
    assert re.findall(r"op\d", reason) == ["op0", "op1", "op2"] and reason.endswith("... and 2 more")


def test_the_differences_of_must_rules_are_counted() -> None:
    known = (KNOWN, replace(KNOWN, op="gelu"), replace(RULEWIDE, seen=3), UNSEEN)
    summary = summarize(replace(SOUND, known=known))
    assert summary.sentence == (
        "toytorch 1.2 passes 1 of 3 applicable MUST rules, in 300 programs."
        " It breaks 2 rules only by listed exceptions (3 known differences)."
    )
    rules = (replace(RULES[0], level="SHOULD"), *RULES[1:])
    assert summarize(replace(SOUND, rules=rules, known=known)).sentence == (
        "toytorch 1.2 passes 1 of 2 applicable MUST rules, in 300 programs."
        " It breaks 1 rule only by listed exceptions (3 known differences)."
        " It passes 0 of 1 applicable SHOULD rule."
    )


def test_known_differences_of_other_rules_do_not_qualify_conformance() -> None:
    for level in ("SHOULD", "INFO"):
        rules = tuple(replace(rule, level=level) if rule.rule == OP else rule for rule in RULES)
        assert summarize(replace(DIFFERING, rules=rules)).conclusion == "conformant"


@pytest.mark.parametrize(
    ("report", "end"),
    [
        (replace(DIFFERING, footer=None), "No MUST rule was broken in 400 programs, except by 1 known difference."),
        (
            replace(DIFFERING, results=(PASSES[0], MUL, HARDSIGMOID)),
            "for toytorch 1.2. No MUST rule was broken in 300 programs, except by 1 known difference.",
        ),
        (
            replace(DIFFERING, results=(PASSES[0], PASSES[2]), known=(UNSEEN,)),
            "could not be decided for toytorch 1.2. No MUST rule was broken in 200 programs.",
        ),
    ],
    ids=["cut short", "not tested", "not seen"],
)
def test_a_run_without_verdict_says_nothing_untrue_of_known_differences(report: Report, end: str) -> None:
    summary = summarize(report)
    assert summary.conclusion == "no verdict"
    assert summary.sentence.endswith(end)


def test_an_op_that_differs_in_known_ways_says_so() -> None:
    elsewhere = replace(KNOWN, rule=RAISES, op="gelu", reason="retained")
    summary = summarize(replace(DIFFERING, known=(KNOWN, elsewhere, replace(UNSEEN, op="mul"))))
    assert [(each.op, each.verdict, each.programs, each.reason) for each in summary.ops] == [
        ("gelu", "known difference", 0, "retained"),
        ("hardsigmoid", "known difference", 100, "its slope is 1/6 rounded to float32"),
        ("mul", "pass", 100, None),
    ]


# --- stale entries ----------------------------------------------------------------------------------------------------

STALE = "stale: not observed in 100 programs; remove it from the file of known differences"
IDLE = "not exercised in this run"
FIXED = replace(HARDSIGMOID, verdict="pass")


def test_an_entry_is_stale_only_where_its_rule_and_its_op_were_exercised() -> None:
    assert status_of(KNOWN, HARDSIGMOID) == "observed in 12 programs"
    assert status_of(replace(KNOWN, seen=1)) == "observed in 1 program"
    assert status_of(UNSEEN, FIXED, MUL) == STALE
    assert status_of(UNSEEN, MUL, PASSES[2]) == IDLE  # other ops of its rule
    assert status_of(UNSEEN, replace(FIXED, programs=0)) == IDLE
    assert status_of(UNSEEN, replace(FIXED, rule=AGAIN, exercised={AGAIN: 100})) == IDLE  # its op, under another rule
    assert status_of(RULEWIDE, *PASSES[1:]) == IDLE
    assert status_of(RULEWIDE, *PASSES) == STALE
    assert status_of(RULEWIDE, replace(PASSES[1], exercised={AGAIN: 100, RAISES: 1})) == STALE


@pytest.mark.parametrize("verdict", ["fail", "crash", "timeout", "flaky", "error"])
def test_a_test_that_broke_off_makes_no_entry_stale(verdict: Outcome) -> None:
    assert status_of(UNSEEN, replace(FIXED, verdict=verdict, reason="died")) == IDLE


def test_a_stale_entry_is_no_error_and_comes_first() -> None:
    idle = replace(UNSEEN, op="gelu")
    report = replace(DIFFERING, known=(idle, KNOWN, RULEWIDE))
    assert verdicts(report)[RAISES] == "pass"
    assert [each.known for each in summarize(report).known] == [RULEWIDE, KNOWN, idle]
    assert [each.stale for each in summarize(report).known] == [True, False, False]


# --- what people read -------------------------------------------------------------------------------------------------

LISTED = replace(DIFFERING, known=(replace(UNSEEN, op="gelu", link=None), KNOWN, RULEWIDE))

AS_SUMMARY = """
CONFORMANT WITH KNOWN DIFFERENCES. toytorch 1.2 passes 2 of 3 applicable MUST rules, in 400
programs. It breaks 1 rule only by listed exceptions (1 known difference).
"""
AS_TABLE = """
known difference  1 rule: gradients/op

Known differences: 1 of 3 were observed in this run
  lifetime/same-root-raises: documented otherwise: stale: not observed in 100 programs; \
remove it from the file of known differences
  gradients/op, op hardsigmoid: its slope is 1/6 rounded to float32 (issue: https://issues.example/1): \
observed in 12 programs
  gradients/op, op gelu: its slope is 1/6 rounded to float32: not exercised in this run

"""


def test_the_page_has_a_section_on_known_differences() -> None:
    page = markdown.render(LISTED)
    assert "**Conformant with known differences.** " in page
    section = page[page.index("## Known differences") : page.index("## Ops")]
    assert page.index("## Rules") < page.index("## Known differences")
    assert [row for row in unescaped(section).splitlines() if row.startswith("| `")] == [
        f"| `{RAISES}` |  | **{STALE}** | documented otherwise |  |",
        f"| `{OP}` | `hardsigmoid` | observed in 12 programs | its slope is 1/6 rounded to float32 |"
        " <https://issues.example/1> |",
        f"| `{OP}` | `gelu` | {IDLE} | its slope is 1/6 rounded to float32 |  |",
    ]
    assert "- known difference (1): `hardsigmoid` (its slope is 1/6 rounded to float32)\n" in page
    assert "None" not in page and "Known differences" not in markdown.render(SOUND)
    assert "<https" not in markdown.render(replace(LISTED, known=(replace(KNOWN, link="see | issue 1"),)))


def test_the_page_lists_an_op_that_differed_even_where_it_is_called_unsupported() -> None:
    page = markdown.render(replace(SOUND, known=(replace(KNOWN, op="topk"),)))
    assert "- known difference (1): `topk` (" in page


def test_the_page_has_known_differences_after_failures() -> None:
    page = markdown.render(replace(BROKEN, known=(KNOWN,)))
    assert page.index("## Failures") < page.index("## Known differences")


def test_the_summary_has_a_section_on_known_differences() -> None:
    page = "\n".join(line.rstrip() for line in shown(LISTED).splitlines()) + "\n"
    assert page.startswith(AS_SUMMARY)
    assert AS_TABLE in page
    assert "60 supported, 2 not, 0 failing\n        known differences: hardsigmoid\n" in page
    assert "nown differences" not in shown(SOUND)


def test_the_summary_shows_stale_entries_first_and_only_so_many() -> None:
    many = tuple(replace(KNOWN, op=f"op{n}") for n in range(13))
    page = shown(replace(DIFFERING, known=(*many, RULEWIDE)))
    entries = page[page.index("Known differences") :]
    assert entries.index("stale: ") < entries.index("observed in 12")
    assert entries.count("observed in 12 programs") == ENTRIES - 1
    assert "\n  and 9 more; the report lists all of them" in entries
    assert "more; the report" not in shown(replace(DIFFERING, known=many[:ENTRIES]))


def test_an_entry_can_neither_drive_the_terminal_nor_break_the_page() -> None:
    evil = replace(KNOWN, op="a|b", reason="[red]x[/red] | \x1b[31m\n| <b>", link="`c`|\n\x1b[0m")
    report = replace(DIFFERING, known=(evil,))
    assert "[red]x[/red] | \\x1b[31m | <b>" in shown(report) and "`c`| \\x1b[0m" in shown(report)
    assert "\x1b" not in shown(report)
    (row,) = re.findall(r"^\| `gradients/op` \| `a.*", markdown.render(report), re.MULTILINE)
    assert len(re.findall(r"(?<!\\)\|", row)) == 6
