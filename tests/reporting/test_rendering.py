"""Texts for people: a failure as text, the Markdown page, the terminal's summary."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from autograd_conformance.reporting.prose import shortened
from autograd_conformance.reporting.records.failure import Allowed, Failure, Signature
from autograd_conformance.reporting.render import markdown, text
from autograd_conformance.reporting.render.parts import Listing, parts
from tests.reporting.miniatures import (
    BROKEN,
    CRASH,
    FAILURE,
    FOOTER,
    KNOWN,
    OP,
    PASSES,
    RAISES,
    RULES,
    SOUND,
    shown,
    unescaped,
)

AS_TEXT = """\
lifetime/same-root-raises (MUST): fail
  A second backward call on a freed graph MUST raise.
  Source: torch.Tensor.backward, https://docs.example/backward_pass.html
  Source: Article, part 1
  Found by: suites/test_lifetime.py::test_history[float64]

   Allowed: raises: graph freed  [lifetime/same-root-raises]
        or: raises: no grad      [errors/no-grad-root]
  Observed: returned; a.grad is [8.0]

The shortest program found:
    1 | a = torch.tensor([2.0], requires_grad=True)
    2 | b = a * a
    3 | b.backward()
--> 4 | b.backward()

The same as a script:

import torch


a = torch.tensor([2.0], requires_grad=True)

Why:
  line 2: the product saves a for its backward
  line 4: line 3 freed it, so this call must raise

Error: 2.5e+15 times the bound (largest error 4, bound 1.6e-15)
What this call computed:
  framework:           [8.0]
  reference:           [4.0]
  finite differences:  [4.0]
  decision:            the framework is wrong: the other two agree

Gradient: The gradient that the call computes for a (line 1) is right, but a.grad is wrong: it is
          [8.0], but must be [4.0].

Diagnosis: saved values outlive the call that should free them

Nearest variation: the program passes with retain_graph=True in line 3

Replay it from the folder where the run was started (the program is in report/1.json):

pytest --replay report/1.json
"""

CRASH_AS_TEXT = """\
gradients/op (MUST), op exp: crash
  The gradient of a|b MUST be right.
  Found by: suites/test_gradients.py::test_op[exp]

  Observed: the process died of signal 11

The program that was running:
    1 | exp(a)
"""


@pytest.mark.parametrize(("failure", "expected"), [(FAILURE, AS_TEXT), (CRASH, CRASH_AS_TEXT)], ids=["full", "bare"])
def test_a_failure_as_text(failure: Failure, expected: str) -> None:
    assert text.render(failure) == expected


NUMBERED = """\
import torch

a = torch.tensor([2.0], requires_grad=True)  # 1
b = a * a                                    # 2
b.backward()                                 # 3
b.backward()                                 # 4 <--
print("a.grad is      ", a.grad)
"""


def test_a_script_whose_lines_are_numbered_is_the_program_that_is_shown() -> None:
    failure = replace(FAILURE, script=NUMBERED)
    whole, brief = text.render(failure), text.render(failure, brief=True)
    assert f"The shortest program found:\n\n{NUMBERED}\nWhy:\n" in whole
    assert f"\n\n{NUMBERED}\nWhy:\n" in brief and "found:\n" not in brief
    for text_ in (whole, brief):
        assert "4 |" not in text_
    assert "pytest --replay" in whole and "pytest --replay" not in brief
    page = unescaped(markdown.render(replace(BROKEN, failures=(failure,))))
    assert f"The shortest program found:\n\n```python\n{NUMBERED}```\n" in page
    loop = text.render(replace(failure, loop=LOOP))
    assert f"{AS_LOOP}\nLine by line:\n\n{NUMBERED}" in loop


LOOP = """\
a = torch.tensor([2.0], requires_grad=True)
b = a * a
for _ in range(2):
    b.backward()  # <-- here, in iteration 2"""
AS_LOOP = f"The shortest program found, as a loop:\n\n{LOOP}\n"


def test_a_failure_in_a_loop_has_a_listing_if_a_text_refers_to_lines() -> None:
    both = text.render(replace(FAILURE, loop=LOOP))
    assert f"{AS_LOOP}\nLine by line:\n    1 | a = torch" in both and "found:\n" not in both
    alone = text.render(replace(FAILURE, loop=LOOP, why=(), variation="passes with retain_graph=True"))
    assert f"{AS_LOOP}\nThe same as a script:" in alone
    assert "Line by line:" in text.render(replace(FAILURE, loop=LOOP, why=()))
    page = unescaped(markdown.render(replace(BROKEN, failures=(replace(FAILURE, loop=LOOP),))))
    assert f"as a loop:\n\n```python\n{LOOP}\n```\n\nLine by line:\n\n```text\n    1 | a" in page


def test_text_keeps_to_its_width_and_lets_no_message_drive_the_terminal() -> None:
    long = replace(
        FAILURE,
        sentence="word " * 60,
        observed="\x1b[31mred " + "x" * 300,
        allowed=(Allowed("an outcome " * 20, RAISES),),
        code=("a = torch.tensor([" + "1.0, " * 60 + "])\n") * 12,
    )
    page = text.render(long)
    assert max(map(len, page.splitlines())) <= text.WIDTH
    assert "\x1b" not in page and "\\x1b[31mred" in page
    assert "-->  4 | a = torch" in page


@pytest.mark.parametrize(("at", "arrows"), [(0, ["--> 1"]), (3, ["--> 4"]), (4, []), (None, [])])
def test_the_arrow_points_at_the_failing_line(at: int | None, arrows: list[str]) -> None:
    assert re.findall(r"--> \d", text.render(replace(FAILURE, at=at))) == arrows
    assert parts(replace(FAILURE, at=at))[2] == Listing(
        tuple(FAILURE.code.split("\n")), at + 1 if at in (0, 3) else None, "The shortest program found"
    )


def test_the_page_shows_a_failure_in_the_order_of_the_text() -> None:
    page = unescaped(markdown.render(BROKEN))
    shown = [
        *("Not conformant", "2 of 3 applicable MUST rules", "## Failures", "2 failures, the worst first."),
        *(f"### 1. {RAISES}: silently wrong", "MUST, fail: A second backward"),
        *(
            "raises: graph freed",
            "returned; a.grad is [8.0]",
            "--> 4 | b.backward()",
            "```python\nimport torch\n\n\na = ",
        ),
        *("the product saves a",),
        *(
            "2.5e+15 times the bound",
            "| finite differences | [4.0] |",
            "Diagnosis: ",
            "Nearest variation: the program passes with",
        ),
        *("<details>", "torch.Tensor.backward, <https://docs.example/backward_pass.html>"),
        *("```sh\npytest --replay report/1.json\n```", "</details>"),
        *(f"### 2. {OP} (exp): crash or hang", "## Families", "## Rules", "cause 1: ", "cause 2: exp: "),
        *("## Ops", "- **crash** (1): `exp`", "- not supported (2): `topk`, `cumprod`"),
        *("## How to reproduce", "Seed: `7`", "Profile: `quick`", "Environment", "| Packages | numpy 2.3.1"),
    ]
    at = 0
    for each in shown:
        assert each in page[at:], each
        at = page.index(each, at) + len(each)
    second = page[page.index("### 2.") : page.index("## Families")]
    assert len(parts(CRASH)) == 3
    assert not any(each in second for each in ("Diagnosis", "script", "Replay", "other failure"))
    assert "None" not in page


def test_a_page_of_many_failures_is_short_and_says_where_the_rest_is() -> None:
    ops = [f"op{n}" for n in range(300)]
    failures = tuple(
        replace(FAILURE, rule=OP, op=op, test=f"t[{op}]", command=f"pytest --replay {op}.json", diagnosis=op)
        for op in ops
    )
    known = tuple(replace(KNOWN, op=op) for op in ops)
    page = markdown.render(replace(BROKEN, failures=failures, known=known))
    assert page.count("\n") < 400
    shown = len(re.findall("^### \\d", page, re.MULTILINE))
    rows = len(re.findall(r"^\| \d+ \| silently wrong \| .*`pytest --replay op\d+.json` \|$", page, re.MULTILINE))
    assert 1 <= shown <= markdown.IN_FULL and rows > 100
    assert f"And {300 - shown - rows} more causes, which `records.jsonl` and the site have." in page
    assert f"And {300 - markdown.FEWEST_KNOWN} more known differences, which `records.jsonl` and the site have." in page


def test_the_meaning_of_a_cause_is_apart_from_what_was_observed() -> None:
    signature = Signature(stage="value", general=True, got="NaN", meaning="an operand without a batch")
    many = [replace(FAILURE, rule=f"a/{k}", test=f"t{k}", program=str(k)) for k in range(9)]
    page = markdown.render(replace(BROKEN, failures=(*many, replace(FAILURE, op="sin", signature=signature))))
    assert "an operand without a batch: " in page
    assert "an operand without a batch:r" not in page


def test_a_cause_of_many_failures_lists_some_of_them() -> None:
    failures = tuple(replace(FAILURE, test=f"t[{n}]") for n in range(markdown.OTHERS + 5))
    page = markdown.render(replace(BROKEN, failures=failures))
    assert "And 4 more failures, which `records.jsonl` has." in page


def tables(page: str) -> Iterator[list[str]]:
    for block in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        yield block.splitlines()


def test_no_message_can_break_a_table_or_a_fence() -> None:
    evil = replace(
        FAILURE,
        observed="a | b\n| c | `d` <b>",
        script="'''\n```\n````\n'''",
        test="t[a|b]",
        allowed=(Allowed("z", "x|y"),),
    )
    rules = (replace(RULES[0], sentence="x | y\nz <script>"), *RULES[1:])
    page = markdown.render(replace(BROKEN, rules=rules, failures=(evil,)))
    for table in tables(page):
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in table}) == 1, table
    assert "`````python\n'''\n```\n````\n'''\n`````" in page
    assert r"x \| y z \<script\>" in page
    assert "`t[a|b]`" in page


def test_an_op_that_is_not_supported_is_listed_once() -> None:
    skipped = replace(PASSES[2], op="topk", verdict="not applicable", programs=0, exercised={})
    page = markdown.render(replace(SOUND, results=(*PASSES, skipped, replace(PASSES[2], op="mul"))))
    assert page.count("`topk`") == 1
    assert "- pass (1): `mul`\n" in page


AS_SUMMARY = """
NOT CONFORMANT. toytorch 1.2 breaks 2 of 3 applicable MUST rules, in 300 programs.

next    run the worst failure again: pytest --replay report/1.json
        read report/index.html

family      MUST rules passed   SHOULD   programs of its tests   failures
─────────────────────────────────────────────────────────────────────────
lifetime               1 of 2        -                     200          1
gradients              0 of 1        -                     100          1
all                    1 of 3        -                     300          2

fail              lifetime/same-root-raises (MUST): cause 1: saved values outlive the call that should free them
crash             gradients/op (MUST): cause 2: exp: the process died of signal 11

ops     60 supported, 2 not, 1 failing: exp (crash)
run     seed 7; profile quick; float32, float64 on cpu; 8 workers
speed   300 programs in 60.0 s, 5 programs/s
"""


def test_environment_variables_are_listed_with_the_packages() -> None:
    page = markdown.render(replace(SOUND, header=replace(SOUND.header, variables={"TORCH_X": "a|b"})))
    assert r"| TORCH\_X | a\|b |" in page
    assert "TORCH" not in markdown.render(SOUND)


def test_the_environment_of_the_framework_is_listed() -> None:
    page = markdown.render(replace(SOUND, header=replace(SOUND.header, environment=("Python 3.9", "numpy 1.26.4"))))
    assert "| The framework's environment | Python 3.9, numpy 1.26.4 |" in page
    assert "environment" not in markdown.render(SOUND)


def test_the_summary_fits_one_screen() -> None:
    page = shown(BROKEN)
    assert len(page.splitlines()) < 20
    assert "\n".join(line.rstrip() for line in page.splitlines()) + "\n" == AS_SUMMARY


def test_the_summary_says_when_the_run_was_cut_short() -> None:
    assert "INTERRUPTED" in shown(replace(SOUND, footer=replace(FOOTER, verdict="interrupted")))
    assert "TRUNCATED" in shown(replace(SOUND, footer=None))
    assert "INTERRUPTED" in markdown.render(replace(SOUND, footer=replace(FOOTER, verdict="interrupted")))


def test_the_summary_takes_nothing_for_markup_and_keeps_commands_whole() -> None:
    long = "pytest --replay '" + "x  y" * 50 + "'\x1b"
    page = shown(replace(BROKEN, failures=(replace(FAILURE, diagnosis="[red]grad[/red] [0]", command=long),) * 5), 80)
    assert "[red]grad[/red] [0]" in page
    assert "run the worst failure again: " + long.replace("\x1b", "\\x1b") + "\n" in page


@pytest.mark.parametrize(
    ("text_", "due"),
    [
        ("a word or two", "a word or two"),
        ("several words too many here", "several words too ..."),
        ("averylongwordthathasnospace anywhere", "averylongwordthatha ..."),
        ("two\nlines", "two lines"),
    ],
)
def test_long_text_is_cut_off_after_a_word(text_: str, due: str) -> None:
    assert shortened(text_, 23) == due
    assert len(due) <= 23
