"""The ledger becomes records, and the pages made from it are up to date."""

from __future__ import annotations

import pytest

from frameworks.registry import load
from frameworks.runner import run
from harness import articles
from harness.claims import claim_records, ledger, predicted, record
from rules.documents.claim import Article, Case, Claim, Holds, Raises, Returns, Saved
from rules.observations import Kind

ARTICLE = Article("a", "How to avoid it?", "a.txt", ("1",))
AGAIN = "x = leaf [1, 2]; h = square x; s = sum h dim=(0,) keepdim=False; backward s; backward s".replace("; ", "\n")
CLAIM = Claim(
    key="a-again",
    article="a",
    section="1",
    says="It raises.",
    truth="It does.",
    right=(Case(AGAIN, (Holds(4, "x", (2.0, 4.0)), Raises(5, Kind.GRAPH_FREED)), "twice"),),
    wrong=(Case(AGAIN, (Returns(5),)),),
)


@pytest.mark.parametrize("path", [articles.PAGE, articles.README], ids=lambda path: path.name)
def test_the_pages_are_up_to_date(path: articles.Path) -> None:
    assert path.read_text(encoding="utf-8") == articles.pages()[path], "run `python -m harness.articles`"


def test_every_claim_of_the_ledger_has_a_record_in_its_order() -> None:
    key = next(iter(ledger()))
    records = claim_records({key: "unknown"}, load("torch").dialect)
    assert [each.key for each in records] == list(ledger())
    assert records[0].observed == "unknown"
    assert {each.observed for each in records[1:]} == {"not run"}
    assert {program.came_true for each in records for program in each.programs} == {None}


@pytest.mark.parametrize("observed", [{"no-such-claim": "right"}, {next(iter(ledger())): "yes"}])
def test_an_observation_has_to_be_of_a_claim_and_in_its_words(observed: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="no observation of a claim"):
        claim_records(observed, None)


def test_a_program_says_what_happened_where_the_article_said_something() -> None:
    torch = load("torch")
    right, wrong = record(CLAIM, ARTICLE, "mixed", torch.dialect, lambda program: run(program, torch)).programs
    assert [line.partition("  # ")[2] for line in right.code.split("\n")] == [
        *("", "", "", "x.grad is [2, 4]"),
        "RuntimeError: graph freed",
    ]
    assert right.code.split("\n")[1] == "h = torch.square(x)"
    assert (right.came_true, wrong.came_true) == (True, False)
    assert (right.line, wrong.line, right.note) == (None, 5, "twice")
    assert right.predicts == "after line 4 x.grad is [2, 4]; line 5 raises (graph freed)"


def test_a_framework_without_a_part_of_a_program_shows_the_suites_own_form() -> None:
    dialect = articles.replace(load("torch").dialect, ops={})
    assert record(CLAIM, ARTICLE, "not run", dialect).programs[0].code == AGAIN
    assert record(CLAIM, ARTICLE, "not run", None).programs[0].code == AGAIN


@pytest.mark.parametrize(
    ("prediction", "words"),
    [
        (Raises(3), "line 3 raises"),
        (Returns(2), "line 2 works"),
        (Holds(4, "w", None), "after line 4 there is no w.grad"),
        (Holds(4, "w", (0.5,)), "after line 4 w.grad is 0.5"),
        (Saved(4, "none"), "no saved tensor is alive after line 4"),
        (Saved(4, "as many", 3), "as many saved tensors are alive after line 4 as after line 3"),
        (Saved(4, "fewer", 3), "fewer saved tensors are alive after line 4 than after line 3"),
    ],
)
def test_a_prediction_in_words(prediction: Raises | Returns | Holds | Saved, words: str) -> None:
    assert predicted(prediction) == words


@pytest.mark.parametrize(
    ("code", "shorter"),
    [
        ("s = torch.sum(h, dim=(0,), keepdim=False)\ns.backward()", "s = h.sum()\ns.backward()"),
        ("s = torch.mean(h, dim=(1,), keepdim=False)\nt = s + s", "s = h.mean(dim=1)\nt = s + s"),
        ("if x.grad is not None: x.grad.zero_()", "x.grad.zero_()"),
        ("s.backward()  # RuntimeError: graph freed", "s.backward()  # RuntimeError: ... a second time"),
    ],
)
def test_the_pages_write_what_a_reader_would(code: str, shorter: str) -> None:
    assert articles.plain(code) == shorter


@pytest.mark.parametrize(
    ("code", "chained"),
    [
        ("y = x * 2.0\ny.backward()  # works", "(x * 2.0).backward()  # works"),
        ("g = x.grad\ng.backward()", "x.grad.backward()"),
        ("y = f(x)\ny.backward()\ny.backward()", "y = f(x)\ny.backward()\ny.backward()"),
    ],
)
def test_the_short_table_has_no_line_for_a_value_used_once(code: str, chained: str) -> None:
    assert articles.chained(code) == chained
