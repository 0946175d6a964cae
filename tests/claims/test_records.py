"""Claims become records, and the pages made from them are up to date."""

from __future__ import annotations

import ast
import re

import pytest
import torch

from autograd_conformance.claims.articles.claim import Article, Case, Claim, HasGrad, Raises, Returns, Saved
from autograd_conformance.claims.records import case_runner, claim_records, claims_by_key, prediction_text, record
from autograd_conformance.frameworks.loading.registry import load
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.programs.observations import Kind
from evaluation.pages import articles

ARTICLE = Article("a", "How to avoid it?", "a.txt", ("1",))
AGAIN = "x = leaf [1, 2]; h = square x; s = sum h dim=(0,) keepdim=False; backward s; backward s".replace("; ", "\n")
CLAIM = Claim(
    key="a-again",
    article="a",
    section="1",
    says="It raises.",
    truth="It does.",
    right=(Case(AGAIN, (HasGrad(4, "x", (2.0, 4.0)), Raises(5, Kind.GRAPH_FREED)), "twice"),),
    wrong=(Case(AGAIN, (Returns(5),)),),
)


def test_the_page_is_up_to_date() -> None:
    made = articles.text()
    assert articles.PAGE.read_text(encoding="utf-8") == made, "run `python -m evaluation.pages.articles`"


def test_every_claim_of_the_ledger_has_a_record_in_its_order() -> None:
    key = next(iter(claims_by_key()))
    records = claim_records({key: "unknown"}, load("torch").dialect)
    assert [each.key for each in records] == list(claims_by_key())
    assert records[0].observed == "unknown"
    assert {each.observed for each in records[1:]} == {"not run"}
    assert {program.came_true for each in records for program in each.programs} == {None}


@pytest.mark.parametrize("observed", [{"no-such-claim": "right"}, {next(iter(claims_by_key())): "yes"}])
def test_an_observation_has_to_be_of_a_claim_and_in_its_words(observed: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="no observation of a claim"):
        claim_records(observed, None)


def test_a_program_says_what_happened_where_the_article_said_something() -> None:
    target = InProcess(load("torch"))
    right, wrong = record(CLAIM, ARTICLE, "mixed", target.dialect, case_runner(target)).programs
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
        (HasGrad(4, "w", None), "after line 4 there is no w.grad"),
        (HasGrad(4, "w", (0.5,)), "after line 4 w.grad is 0.5"),
        (Saved(4, "none"), "no saved tensor is alive after line 4"),
        (Saved(4, "as many", 3), "as many saved tensors are alive after line 4 as after line 3"),
        (Saved(4, "fewer", 3), "fewer saved tensors are alive after line 4 than after line 3"),
    ],
)
def test_a_prediction_in_words(prediction: Raises | Returns | HasGrad | Saved, words: str) -> None:
    assert prediction_text(prediction) == words


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


def test_a_reader_who_runs_the_programs_sees_what_their_comments_say() -> None:
    text = articles.PAGE.read_text(encoding="utf-8")
    programs = re.findall(r"^```python\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)
    assert len(programs) > len(articles.FAVOURITES)
    for program in programs:
        space = {"torch": torch, "F": torch.nn.functional}
        for line in program.split("\n"):
            said = line.partition("  # ")[2]
            if said.startswith("RuntimeError: ... "):
                with pytest.raises(RuntimeError, match=re.escape(said.removeprefix("RuntimeError: ... "))):
                    exec(line, space)
                continue
            exec(line, space)
            for name, values in re.findall(r"(\w+)\.grad is (\[.*?\]|[-\d.e]+|None)", said):
                held = space[name].grad
                want = None if values == "None" else torch.tensor(ast.literal_eval(values)).flatten().double()
                assert held is want or torch.allclose(held.flatten().double(), want, rtol=1e-4, atol=1e-6), program
            assert re.fullmatch(r"|works|\d+ saved tensors? alive|((, )?\w+\.grad is ([^a-zN]+|None))+", said), said


def test_every_program_on_the_page_says_whether_its_article_is_right() -> None:
    claims = articles.records()
    for key, (claim, _) in claims_by_key().items():
        found = [program.came_true for program in claims[key].programs]
        assert found == [True] * len(claim.right) + [False] * len(claim.wrong), key
