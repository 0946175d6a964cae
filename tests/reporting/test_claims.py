"""Claims of articles in the report, in the terminal, and in the pages made from them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from autograd_conformance.reporting.records.claims import by_article, observation_counts, verdict_counts
from autograd_conformance.reporting.render import articles, markdown
from tests.reporting.miniatures import CLAIM, CLAIMS, COSTLY, DEPARTING, SOUND, shown, unescaped

REPORT = replace(SOUND, claims=CLAIMS)
CODE = "b = a * a\nb.backward()\nb.backward()  # RuntimeError"


def test_a_report_without_claims_says_nothing_of_articles() -> None:
    assert "articles" not in markdown.render(SOUND)
    assert "articles" not in shown(SOUND)


def test_claims_are_shown_only_if_asked_for() -> None:
    assert "Claims of articles" not in markdown.render(REPORT) and "claims" not in shown(REPORT)
    assert "Claims of articles" in markdown.render(REPORT, articles=True)
    assert "2 articles" in shown(REPORT, articles=True)


def test_the_report_says_what_to_do_before_it_judges_anyone() -> None:
    page = unescaped(markdown.render(REPORT, articles=True))
    order = [
        *("## Claims of articles, and whether they are true", "Trying to backward through the graph a second time"),
        *("(loss1 + loss2).backward()", "Two articles", "3 claims: 1 holds under"),
        *(
            "### How to avoid the error?",
            "| A second `backward()` on a|b raises. | holds under a condition: the op saved a tensor |",
        ),
        *("| Backward on a detached tensor raises nothing. | **false** | **as the article says** |", "<details>"),
        f"A product.\n\n```python\n{CODE}\n```\n\nThe article says: line 3 raises. This is true.",
        *("The article says: line 3 raises. **This is false.**", "The article says: line 2 works.\n"),
        *("### What does `retain_graph` control?", "| not testable |  |"),
        "<summary>Retaining costs a &lt;lot&gt; of memory.</summary>",
        *("Not testable: nothing says how much a lot is.", "## Ops"),
    ]
    at = 0
    for each in order:
        assert each in page[at:], each
        at = page.index(each, at) + len(each)


def test_the_answer_is_five_bullets_at_most() -> None:
    page = markdown.render(REPORT, articles=True)
    answer = page[page.index("If you are here because") : page.index("Two articles")]
    assert 0 < len(re.findall("^- ", answer, re.MULTILINE)) <= 5


def test_every_claim_has_its_row_and_no_row_breaks() -> None:
    page = markdown.render(REPORT, articles=True)
    section = page[page.index("## Claims of articles") : page.index("## Ops")]
    rows = re.findall(r"^\|.*\|$", section, re.MULTILINE)
    assert len(rows) == len(CLAIMS) + 2 * len(by_article(CLAIMS))
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {4}


def test_articles_keep_together_in_the_order_in_which_they_come() -> None:
    assert by_article(CLAIMS) == [(CLAIM.article, [CLAIM, DEPARTING]), (COSTLY.article, [COSTLY])]


@pytest.mark.parametrize(
    ("verdict", "observed", "differs"),
    [
        ("holds", "right", False),
        ("holds", "mixed", True),
        ("holds under a condition", "mixed", False),
        ("holds under a condition", "right", True),
        ("false as written", "mixed", False),
        ("false as written", "wrong", True),
        ("false", "wrong", False),
        ("false", "right", True),
        ("false", "unknown", False),
        ("holds", "not run", False),
        ("not testable", "not run", False),
    ],
)
def test_a_framework_departs_where_it_shows_what_the_official_semantics_do_not(
    verdict: str, observed: str, differs: bool
) -> None:
    assert replace(CLAIM, verdict=verdict, observed=observed).differs is differs  # type: ignore[arg-type]


def test_a_claim_that_nothing_bears_out_is_shown_wrong() -> None:
    refuted = replace(CLAIM, verdict="false as written", condition="", observed="wrong")
    assert refuted.official == "wrong"
    assert not refuted.differs
    assert replace(refuted, observed="mixed").differs


def test_the_condition_of_a_claim_is_below_the_verdict() -> None:
    as_written = replace(CLAIM, verdict="false as written")
    cell = "| **false as written**<br>would hold if: the op saved a tensor |"
    assert cell in unescaped(markdown.render(replace(SOUND, claims=(as_written,)), articles=True))
    assert "| **false as written** |" in markdown.render(
        replace(SOUND, claims=(replace(as_written, condition=""),)), articles=True
    )
    page = articles.table([as_written])
    assert page.index("**False as written.**") < page.index("*It would hold if:* the op saved a tensor.")
    assert verdict_counts((as_written, as_written)) == "2 are false as written"


def test_the_terminal_counts_verdicts_and_observations_of_claims() -> None:
    assert verdict_counts(CLAIMS) == "1 holds under a condition, 1 is false, 1 cannot be tested"
    assert observation_counts(CLAIMS) == "1 as the article says, 1 sometimes as the article says"
    assert f"claims  3 in 2 articles; toytorch behaves: {observation_counts(CLAIMS)}\n" in shown(REPORT, articles=True)


# -- the pages made from claims ------------------------------------------------------------------------------------


def test_the_page_holds_every_claim_with_its_truth_and_its_programs() -> None:
    page = articles.page(CLAIMS)
    assert page.startswith("<!-- Made by")
    assert page.count("<details>") == page.count("</details>") == len(CLAIMS)
    for claim in CLAIMS:
        assert f"| {markdown.marked(claim.says)} |" in page
        assert all(f"```python\n{program.code}\n```" in page for program in claim.programs)


def test_the_short_table_prefers_the_program_that_speaks_against_a_claim() -> None:
    assert articles.example_program(CLAIM) == CLAIM.programs[1]
    assert articles.example_program(COSTLY) is None
    assert articles.table([CLAIM]).count("b = a + a") == 1


def test_the_short_table_takes_no_long_program() -> None:
    long = replace(CLAIM, programs=(replace(CLAIM.programs[0], code="x\n" * articles.LINES + "x"),))
    for claim in (long, COSTLY):
        with pytest.raises(ValueError, match="no program of at most 5 lines"):
            articles.table([claim])
