"""Reports are sound or refused, verdicts follow from records, and what people read is worth pasting."""

from __future__ import annotations

import dataclasses
import io
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from rich.console import Console

from reports import __main__ as command
from reports import markdown, text
from reports.combine import combine
from reports.parts import Listing, parts
from reports.records import (
    NAMES,
    Allowed,
    Error,
    Failure,
    Footer,
    Framework,
    Header,
    Record,
    Report,
    Result,
    RuleRecord,
    Source,
    Step,
    Votes,
    decode,
    encode,
)
from reports.stream import SCHEMA, InvalidReport, Writer, load, parse, read
from reports.summary import THRESHOLD, summarize
from reports.terminal import print_summary

RAISES, AGAIN, OP = "lifetime/same-root-raises", "lifetime/retained-works", "gradients/op"

HEADER = Header(
    suite="0.1",
    framework=Framework("toytorch", "1.2", ("retain",), 60, ("topk", "cumprod")),
    seed=7,
    profile="quick",
    dtypes=("float32", "float64"),
    device="cpu",
    started="2026-01-02T03:04:05Z",
    python="3.11.9",
    platform="Linux x86_64",
    packages={"numpy": "2.3.1"},
    workers=8,
)
RULES = (
    RuleRecord(
        rule=RAISES,
        family="lifetime",
        level="MUST",
        sentence="A second backward call on a freed graph MUST raise.",
        sources=(
            Source("torch.Tensor.backward", "https://docs.example/backward_pass.html"),
            Source("Article", "part 1"),
        ),
    ),
    RuleRecord(rule=AGAIN, family="lifetime", level="MUST", sentence="A retained graph MUST be walkable again."),
    RuleRecord(rule=OP, family="gradients", level="MUST", sentence="The gradient of a|b MUST be right."),
)
PASSES = tuple(
    Result(test=f"suites/test_{rule.family}.py::{n}", rule=rule.rule, verdict="pass", programs=100,
           exercised={rule.rule: 100}, seconds=0.5)
    for n, rule in enumerate(RULES)
)  # fmt: skip
FOOTER = Footer(
    verdict="complete", finished="2026-01-02T03:05:05.5+00:00", seconds=60.0, tests=3, programs=300, exit_code=0
)
FAILURE = Failure(
    verdict="fail",
    rule=RAISES,
    level="MUST",
    sentence=RULES[0].sentence,
    sources=RULES[0].sources,
    test="suites/test_lifetime.py::test_history[float64]",
    program={"version": 1, "instructions": [{"do": "leaf", "value": [2.0]}]},
    at=3,
    observed="returned; a.grad is [8.0]",
    allowed=(Allowed("raises: graph freed", RAISES), Allowed("raises: no grad", "errors/no-grad-root")),
    code="a = torch.tensor([2.0], requires_grad=True)\nb = a * a\nb.backward()\nb.backward()",
    why=(Step(2, "the product saves a for its backward"), Step(4, "line 3 freed it, so this call must raise")),
    error=Error(4.0, 1.6e-15, 2.5e15),
    votes=Votes("[8.0]", "[4.0]", "[4.0]", "the framework is wrong: the other two agree"),
    diagnosis="saved values outlive the call that should free them",
    variation="passes with retain_graph=True in line 3",
    script="import torch\n\n\na = torch.tensor([2.0], requires_grad=True)\n",
    replay="report/1.json",
    command="pytest --replay report/1.json",
)
CRASH = Failure(
    verdict="crash",
    rule=OP,
    level="MUST",
    sentence=RULES[2].sentence,
    test="suites/test_gradients.py::test_op[exp]",
    op="exp",
    program={},
    observed="the process died of signal 11",
    code="exp(a)",
    script="",
)
SOUND = Report(HEADER, RULES, PASSES, (), FOOTER)
BROKEN = replace(SOUND, failures=(FAILURE, CRASH), footer=replace(FOOTER, exit_code=1))
EVERY: tuple[Record, ...] = (HEADER, *RULES, *PASSES, FAILURE, CRASH, FOOTER)


def lines(*records: Record) -> bytes:
    return b"".join(json.dumps(encode(record)).encode() + b"\n" for record in records)


def spoilt(record: Record, **changes: object) -> bytes:
    return json.dumps(encode(record) | changes).encode() + b"\n"


def verdicts(report: Report) -> dict[str, str]:
    return {each.rule.rule: each.verdict for each in summarize(report).rules}


# --- records and their JSON forms -------------------------------------------------------------------------------------

INFINITE = replace(FAILURE, error=Error(float("inf"), 1e-9, float("inf")))


@pytest.mark.parametrize(
    "record", [*EVERY, INFINITE, replace(HEADER, seed=None)], ids=lambda record: type(record).__name__
)
def test_a_record_comes_back_as_it_was(record: Record) -> None:
    form = json.loads(json.dumps(encode(record), allow_nan=False))
    assert decode(form) == record
    assert encode(decode(form)) == form
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(form)


def test_the_form_of_a_result_is_this_and_nothing_else() -> None:
    assert encode(PASSES[0]) == {
        "record": "result",
        "test": "suites/test_lifetime.py::0",
        "rule": RAISES,
        "op": None,
        "verdict": "pass",
        "programs": 100,
        "exercised": {RAISES: 100},
        "seconds": 0.5,
        "reason": None,
    }


def test_the_schema_knows_every_field_of_every_record() -> None:
    definitions = json.loads(SCHEMA.read_text())["$defs"]
    inner = {Framework: "framework", Source: "source", Allowed: "allowed", Step: "step", Error: "error", Votes: "votes"}
    for kind, name in (*NAMES.items(), *inner.items()):
        fields = {field.name for field in dataclasses.fields(kind)} | ({"record"} if kind in NAMES else set())
        assert fields == set(definitions[name]["properties"]) == set(definitions[name]["required"]), name


def test_a_killed_writer_leaves_every_record_that_it_was_given(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "new folder" / "records.jsonl")
    for record in (HEADER, *RULES, PASSES[0]):
        writer.write(record)
    assert load(writer.path, allow_truncated=True) == Report(HEADER, RULES, PASSES[:1])
    writer.close()


def test_a_number_that_json_lacks_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with Writer(tmp_path / "r.jsonl") as writer:
        with pytest.raises(ValueError, match="not JSON compliant"):
            writer.write(replace(FAILURE, program={"value": float("nan")}))
        assert writer.path.read_bytes() == b""


def test_a_message_may_hold_any_character(tmp_path: Path) -> None:
    odd = replace(FAILURE, observed='two\nlines, a separator \u2028, half a pair \ud800, a quote "')
    with Writer(tmp_path / "r.jsonl") as writer:
        for record in (HEADER, *RULES, odd, FOOTER):
            writer.write(record)
    assert read(writer.path).failures == (odd,)


# --- files that are not reports ---------------------------------------------------------------------------------------

INVALID = {
    "empty": (b"", "f: the file has no header: it holds no record at all"),
    "a page on one line": (b"<html>", "f, line 1: malformed JSON at column 1: Expecting value"),
    "another kind of file": (b"<html>\n", "f, line 1: malformed JSON at column 1: Expecting value"),
    "a comma too many": (lines(HEADER) + b'{"record":"footer",}\n', "f, line 2: malformed JSON at column 20"),
    "NaN": (lines(HEADER) + b'{"record":NaN}\n', "f, line 2: malformed JSON: NaN is not JSON"),
    "not an object": (b"[1]\n", "f, line 1: a record is a JSON object"),
    "unknown record": (
        b'{"record":"x"}\n',
        "f, line 1: $.record: 'x' is none of header, rule, result, failure, footer",
    ),
    "a later version": (spoilt(HEADER, version=2), "f, line 1: $.version: this reader knows version 1 of the records"),
    "no header": (lines(*RULES, FOOTER), "f, line 1: the file has no header: its first record must be one"),
    "two runs in one file": (lines(HEADER, HEADER), "f, line 2: there is a second header"),
    "a rule twice": (lines(HEADER, RULES[0], RULES[0]), f"f, line 3: rule '{RAISES}' has two records"),
    "an unlisted rule": (lines(HEADER, PASSES[0]), f"f, line 2: this line names rule '{RAISES}', of which no record"),
    "a failure of an unlisted rule": (lines(HEADER, FAILURE), f"f, line 2: this line names rule '{RAISES}', of which"),
    "no footer": (lines(HEADER, *RULES), "f, line 4: the file ends without a footer: the run was cut off here"),
    "killed as it wrote": (lines(HEADER, *RULES)[:-9], "f, line 4: the line is cut off: the run was killed"),
    "more after the end": (lines(HEADER, FOOTER, RULES[0]), "f, line 3: there is a record after the footer"),
    "unknown verdict": (
        lines(HEADER, *RULES) + spoilt(PASSES[0], verdict="ok"),
        "f, line 5: $.verdict: 'ok' is not one of ['pass', 'fail', 'not applicable', 'crash',",
    ),
    "a field inside a field": (
        lines(HEADER, *RULES) + spoilt(FAILURE, why=[{"line": 0, "text": ""}]),
        "f, line 5: $.why[0].line: 0 is less than the minimum of 1 (a failure record)",
    ),
    "a field left out": (
        b'{"record":"header","version":1}\n',
        "f, line 1: $: 'suite' is a required property (a header",
    ),
    "a field too many": (spoilt(HEADER, colour="red"), "f, line 1: $: Additional properties are not allowed ('colour'"),
    "local time": (
        spoilt(HEADER, started="2026-01-02T03:04:05+02:00"),
        "f, line 1: $.started: '2026-01-02T03:04:05+02",
    ),
}


@pytest.mark.parametrize("how", INVALID)
def test_each_way_to_be_invalid_has_its_own_message(how: str) -> None:
    content, message = INVALID[how]
    with pytest.raises(InvalidReport, match="^" + re.escape(message)):
        parse(content, "f")


def test_a_file_that_is_not_there_is_invalid_too(tmp_path: Path) -> None:
    with pytest.raises(InvalidReport, match=r"absent\.jsonl: No such file"):
        read(tmp_path / "absent.jsonl")


def test_a_truncated_run_can_be_asked_for_what_it_had_said() -> None:
    whole = lines(HEADER, *RULES, *PASSES)
    assert parse(whole[:-1], "f", allow_truncated=True) == replace(SOUND, footer=None)
    assert parse(whole[:-5], "f", allow_truncated=True) == replace(SOUND, results=PASSES[:-1], footer=None)
    with pytest.raises(InvalidReport, match="line 2: malformed"):
        parse(b"\n".join([lines(HEADER).strip(), b"{", lines(FOOTER)]), "f", allow_truncated=True)


# --- verdicts ---------------------------------------------------------------------------------------------------------


def test_what_was_exercised_enough_without_failure_passes() -> None:
    summary = summarize(SOUND)
    assert [each.verdict for each in summary.rules] == ["pass"] * 3
    assert (summary.conclusion, str(summary.total)) == ("conformant", "3 / 3 / 3")
    assert summary.sentence == "toytorch 1.2 keeps all 3 applicable MUST rules, in 300 programs."


@pytest.mark.parametrize(("times", "verdict"), [(THRESHOLD - 1, "vacuous"), (THRESHOLD, "pass")])
def test_a_rule_that_few_programs_exercised_is_vacuous(times: int, verdict: str) -> None:
    few = replace(PASSES[1], exercised={AGAIN: times - 1})
    elsewhere = replace(PASSES[0], exercised={RAISES: 100, AGAIN: 1})
    report = replace(SOUND, results=(elsewhere, few, PASSES[2]))
    assert verdicts(report)[AGAIN] == verdict
    assert summarize(report).conclusion == ("conformant" if verdict == "pass" else "no verdict")


def test_a_rule_whose_capability_is_not_claimed_does_not_apply() -> None:
    summary = summarize(replace(SOUND, rules=(*RULES[:2], replace(RULES[2], needs=("retain", "hooks")))))
    assert (summary.rules[2].verdict, summary.rules[2].reason) == ("not applicable", "needs hooks, not claimed")
    assert (str(summary.total), summary.conclusion) == ("2 / 2 / 3", "conformant")


def test_a_rule_whose_tests_all_do_not_apply_does_not_apply() -> None:
    skipped = replace(PASSES[2], verdict="not applicable", programs=0, exercised={}, reason="no such op")
    summary = summarize(replace(SOUND, results=(*PASSES[:2], skipped)))
    assert (summary.rules[2].verdict, summary.rules[2].reason) == ("not applicable", "no such op")


def test_a_failure_counts_for_its_rule_whichever_test_found_it() -> None:
    """The test for retained graphs stumbles over a freed one: only the rule on freed graphs is broken."""
    found = replace(PASSES[1], verdict="fail", test=FAILURE.test)
    report = replace(SOUND, results=(PASSES[0], found, PASSES[2]), failures=(FAILURE,))
    assert verdicts(report) == {RAISES: "fail", AGAIN: "pass", OP: "pass"}
    assert [each.failures for each in summarize(report).families] == [1, 0]


@pytest.mark.parametrize("verdict", ["fail", "crash", "timeout", "flaky", "error"])
def test_a_bad_result_that_left_no_failure_counts_against_its_own_rule(verdict: str) -> None:
    """A worker died with its test: there is a result, but nobody was left to explain it."""
    died = decode(encode(PASSES[0]) | {"verdict": verdict, "reason": "worker\n gw1 died"})
    assert isinstance(died, Result)
    summary = summarize(replace(SOUND, results=(died, *PASSES[1:])))
    assert (summary.rules[0].verdict, summary.rules[0].reason) == (verdict, "worker gw1 died")
    assert summary.conclusion == ("no verdict" if verdict == "error" else "not conformant")


def test_a_failure_is_never_hidden_by_a_capability_that_is_not_claimed() -> None:
    rules = (replace(RULES[0], needs=("hooks",)), *RULES[1:])
    assert verdicts(replace(SOUND, rules=rules, failures=(FAILURE,)))[RAISES] == "fail"


def test_the_worst_failure_names_the_verdict() -> None:
    summary = summarize(replace(SOUND, failures=(replace(CRASH, verdict="flaky"), CRASH)))
    assert summary.rules[2].verdict == "crash"
    assert summary.rules[2].reason == "exp: the process died of signal 11 (and 1 other failure)"


def test_an_informational_rule_never_fails_and_is_in_no_total() -> None:
    rules = (replace(RULES[0], level="INFO"), *RULES[1:])
    summary = summarize(replace(SOUND, rules=rules, failures=(replace(FAILURE, level="INFO"),)))
    assert (summary.rules[0].verdict, summary.rules[0].exercised) == ("info", 100)
    assert (str(summary.total), summary.conclusion) == ("2 / 2 / 2", "conformant")


def test_a_broken_recommendation_does_not_cost_conformance() -> None:
    rules = (replace(RULES[0], level="SHOULD"), *RULES[1:])
    summary = summarize(replace(SOUND, rules=rules, failures=(replace(FAILURE, level="SHOULD"),)))
    assert (summary.conclusion, str(summary.total)) == ("conformant", "2 / 3 / 3")
    assert summary.sentence.endswith("It follows 0 of 1 applicable SHOULD rule.")


def test_ops_have_verdicts_of_their_own() -> None:
    ran = [replace(PASSES[2], test=f"t[{op}]", op=op) for op in ("mul", "exp", "add")]
    ran.append(replace(ran[0], test="t[mul-float16]", verdict="not applicable", programs=0, exercised={}))
    skipped = replace(PASSES[2], test="t[topk]", op="topk", verdict="not applicable", programs=0, exercised={})
    idle = replace(PASSES[2], test="t[sin]", op="sin", programs=0, exercised={})
    summary = summarize(replace(SOUND, results=(*ran, skipped, idle), failures=(CRASH,)))
    found = {each.op: each.verdict for each in summary.ops}
    assert found == {"add": "pass", "exp": "crash", "mul": "pass", "sin": "vacuous", "topk": "not applicable"}


@pytest.mark.parametrize(
    ("report", "sentence"),
    [
        (replace(SOUND, results=()), "No program was run on toytorch 1.2."),
        (
            replace(SOUND, footer=None),
            "The run on toytorch 1.2 was cut short. No MUST rule was broken in 300 programs.",
        ),
        (
            replace(SOUND, rules=tuple(replace(r, needs=("x",)) for r in RULES)),
            "No MUST rule applies to what toytorch 1.2",
        ),
    ],
    ids=["empty", "cut short", "nothing claimed"],
)
def test_a_run_that_shows_nothing_has_no_verdict(report: Report, sentence: str) -> None:
    summary = summarize(report)
    assert summary.conclusion == "no verdict"
    assert summary.sentence.startswith(sentence)


# --- what people read -------------------------------------------------------------------------------------------------

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

Why:
  line 2: the product saves a for its backward
  line 4: line 3 freed it, so this call must raise

Error: 2.5e+15 times the bound (largest error 4, bound 1.6e-15)
Votes:
  framework:           [8.0]
  reference:           [4.0]
  finite differences:  [4.0]
  decision:            the framework is wrong: the other two agree

Diagnosis: saved values outlive the call that should free them

Nearest variation: passes with retain_graph=True in line 3

A script that reproduces it with the framework alone:

import torch


a = torch.tensor([2.0], requires_grad=True)

Replay it under the suite (the program is in report/1.json):

pytest --replay report/1.json
"""

CRASH_AS_TEXT = """\
gradients/op (MUST), op exp: crash
  The gradient of a|b MUST be right.
  Found by: suites/test_gradients.py::test_op[exp]

  Observed: the process died of signal 11

The shortest program found:
    1 | exp(a)
"""


@pytest.mark.parametrize(("failure", "expected"), [(FAILURE, AS_TEXT), (CRASH, CRASH_AS_TEXT)], ids=["full", "bare"])
def test_a_failure_as_text(failure: Failure, expected: str) -> None:
    assert text.render(failure) == expected


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
        tuple(FAILURE.code.split("\n")), at + 1 if at in (0, 3) else None
    )


def unescaped(page: str) -> str:
    return re.sub(r"\\([^\w\s])", r"\1", page)


def test_the_page_shows_a_failure_in_the_order_of_the_text() -> None:
    page = unescaped(markdown.render(BROKEN))
    shown = [
        *(
            "Not conformant",
            "2 of 3 applicable MUST rules",
            "## Families",
            "## Rules",
            "## Failures",
            f"### 1. {RAISES}",
        ),
        *("MUST, fail: A second backward", "torch.Tensor.backward, <https://docs.example/backward_pass.html>"),
        *("raises: graph freed", "returned; a.grad is [8.0]", "--> 4 | b.backward()", "the product saves a"),
        *("2.5e+15 times the bound", "| finite differences | [4.0] |", "Diagnosis: ", "Nearest variation: passes with"),
        *("<details>", "```python\nimport torch\n\n\na = ", "</details>", "```sh\npytest --replay report/1.json\n```"),
        *(f"### 2. {OP} (exp)", "## Ops", "- **crash** (1): `exp`", "- not supported (2): `topk`, `cumprod`"),
        *("## How to reproduce", "Seed: `7`", "Profile: `quick`", "## Environment", "| numpy | 2.3.1 |"),
    ]
    at = 0
    for each in shown:
        assert each in page[at:], each
        at = page.index(each, at) + len(each)
    second = page[page.index("### 2.") : page.index("## Ops")]
    assert len(parts(CRASH)) == 3 and "Diagnosis" not in second and "<details>" not in second and "None" not in page


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


def shown(report: Report, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    print_summary(report, console, "report/index.html")
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


AS_SUMMARY = """
NOT CONFORMANT. toytorch 1.2 breaks 2 of 3 applicable MUST rules, in 300 programs.

family      passed / applicable / all   programs   failures
───────────────────────────────────────────────────────────
lifetime                    1 / 2 / 2        200          1
gradients                   0 / 1 / 1        100          1

all                         1 / 3 / 3        300          2

verdict   rule                        level   reason
─────────────────────────────────────────────────────────────────────────────────────────────────
fail      lifetime/same-root-raises   MUST    saved values outlive the call that should free them
crash     gradients/op                MUST    exp: the process died of signal 11

ops     60 supported, 2 not, 1 wrong
        wrong: exp (crash)
        not supported: topk, cumprod
replay  pytest --replay report/1.json  # lifetime/same-root-raises
run     seed 7; profile quick; float32, float64 on cpu; 8 workers
speed   300 programs in 60.0 s, 5 programs/s
report  report/index.html
"""


def test_the_summary_fits_one_screen() -> None:
    page = shown(BROKEN)
    assert max(map(len, page.splitlines())) <= 100
    assert "\n".join(line.rstrip() for line in page.splitlines()) + "\n" == AS_SUMMARY


def test_the_summary_says_when_the_run_was_cut_short() -> None:
    assert "INTERRUPTED" in shown(replace(SOUND, footer=replace(FOOTER, verdict="interrupted")))
    assert "TRUNCATED" in shown(replace(SOUND, footer=None))
    assert "INTERRUPTED" in markdown.render(replace(SOUND, footer=replace(FOOTER, verdict="interrupted")))


def test_the_summary_takes_nothing_for_markup_and_keeps_commands_whole() -> None:
    long = "pytest --replay '" + "x  y" * 50 + "'\x1b"
    page = shown(replace(BROKEN, failures=(replace(FAILURE, diagnosis="[red]grad[/red] [0]", command=long),) * 5), 80)
    assert "[red]grad[/red] [0]" in page
    assert long.replace("\x1b", "\\x1b") + "  # " in page
    assert "and 2 more failures; the report has every command" in page


# --- files and the command line ---------------------------------------------------------------------------------------


def written(path: Path, *records: Record) -> Path:
    path.write_bytes(lines(*records))
    return path


def test_reports_are_combined_in_the_order_of_a_matrix(tmp_path: Path) -> None:
    names = ("b", "A", "C")
    files = [written(tmp_path / n, replace(HEADER, framework=Framework(n, "1", (), 0, ())), FOOTER) for n in names]
    assert [report.header.framework.name for report in combine(files)] == ["A", "b", "C"]
    files[1].write_bytes(b"")
    with pytest.raises(InvalidReport, match="no header"):
        combine(files)


def test_the_command_prints_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, page = written(tmp_path / "r.jsonl", *EVERY), tmp_path / "site" / "report.md"
    assert command.main([str(file), "--markdown", str(page)]) == 0
    assert "NOT CONFORMANT" in capsys.readouterr().out
    assert page.read_text(encoding="utf-8") == markdown.render(read(file))
    assert command.main([str(written(file, *EVERY[:-1])), "--allow-truncated"]) == 0
    assert "TRUNCATED" in capsys.readouterr().out


def test_the_command_refuses_an_invalid_file_with_one_message(tmp_path: Path) -> None:
    file = written(tmp_path / "r.jsonl", HEADER)
    ran = subprocess.run([sys.executable, "-m", "reports", str(file)], capture_output=True, text=True, check=False,
                         cwd=Path(__file__).parents[1])  # fmt: skip
    assert (ran.returncode, ran.stdout) == (3, "")
    assert ran.stderr.splitlines() == [
        f"reports: {file}, line 1: the file ends without a footer: the run was cut off here"
    ]


def test_reports_stand_on_the_ground_floor_alone() -> None:
    allowed = {*sys.stdlib_module_names, "reports", "rules", "rich", "jinja2", "jsonschema"}
    for module in Path(markdown.__file__).parent.glob("*.py"):
        found = set(re.findall(r"^\s*(?:from|import) (\w+)", module.read_text(), re.MULTILINE))
        assert found <= allowed, module.name
