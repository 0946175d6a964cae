"""The commands on record files; and the imports that reporting is allowed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from autograd_conformance import cli as suite
from autograd_conformance.reporting import command
from autograd_conformance.reporting.merging.combine import combine
from autograd_conformance.reporting.records.records import Framework
from autograd_conformance.reporting.records.stream import InvalidReport, read
from autograd_conformance.reporting.render import markdown
from tests.reporting.miniatures import CRASH, EVERY, FAILURE, FOOTER, HEADER, OP, PASSES, RAISES, RULES, written


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
    text = page.read_text(encoding="utf-8")
    assert text.startswith(markdown.render(read(file))[:1000])
    (drawing,) = re.findall(r"!\[The program, [^]]*\]\(([^)]*)\)", text)
    picture = ElementTree.parse(page.parent / drawing).getroot()
    assert picture.tag.endswith("svg") and "prefers-color-scheme" in (picture[0].text or "")
    assert command.main([str(written(file, *EVERY[:-1])), "--allow-truncated"]) == 0
    assert "TRUNCATED" in capsys.readouterr().out


def test_the_command_refuses_an_invalid_file_with_one_message(tmp_path: Path) -> None:
    file = written(tmp_path / "r.jsonl", HEADER)
    command = [sys.executable, "-m", "autograd_conformance.reporting", str(file)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (3, "")
    assert ran.stderr.splitlines() == [
        f"reports: {file}, line 1: the file ends without a footer: the run was killed here"
    ]


def test_reporting_imports_no_room_above_it() -> None:
    allowed = {
        *sys.stdlib_module_names,
        "reporting",
        "interactions",
        "package",
        "rich",
        "jinja2",
        "markupsafe",
        "jsonschema",
        "jsonschema_rs",
        "markdown_it",
        "packaging",
        "grandalf",
        "pygal",
        "pygments",
    }
    for module in Path(command.__file__).parent.rglob("*.py"):
        found = re.findall(r"^\s*(?:from|import) (?:autograd_conformance\.)?(\w+)", module.read_text(), re.MULTILINE)
        assert set(found) <= allowed, module.name


def test_a_badge_is_a_picture_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, picture, endpoint = written(tmp_path / "r.jsonl", *EVERY), tmp_path / "b" / "x.svg", tmp_path / "x.json"
    assert command.main(["badge", str(file), str(picture), str(endpoint)]) == 0
    assert json.loads(endpoint.read_text()) == {
        "schemaVersion": 1,
        "label": "autograd conformance",
        "message": "✗ keeps 1 of 3 MUST rules",
        "color": "#c22b2b",
        "isError": False,
    }
    read = ElementTree.fromstring(picture.read_text(encoding="utf-8"))
    assert read.get("aria-label") == "autograd conformance of toytorch 1.2: not conformant, keeps 1 of 3 MUST rules"
    assert command.main(["badge", str(file), str(tmp_path / "x.png")]) == command.USAGE
    assert "end in .svg or .json" in capsys.readouterr().err
    hostile = replace(HEADER, framework=Framework('<script>"&', "1", (), 0, ()))
    assert command.main(["badge", str(written(file, hostile, FOOTER)), str(picture)]) == 0
    assert ElementTree.fromstring(picture.read_text(encoding="utf-8")).find("script") is None


def test_two_runs_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fine = written(tmp_path / "fine.jsonl", HEADER, *RULES, *PASSES, FOOTER)
    wrong = written(tmp_path / "wrong.jsonl", HEADER, *RULES, *PASSES, CRASH, FOOTER)
    more = written(tmp_path / "more.jsonl", HEADER, *RULES, *PASSES, CRASH, replace(CRASH, op="log"), FAILURE, FOOTER)

    def printed_text(*files: Path) -> tuple[int, str]:
        return command.main(["diff", *map(str, files)]), capsys.readouterr().out

    assert printed_text(fine, fine) == (0, "toytorch 1.2 -> toytorch 1.2\nUnchanged: 3 rules.\n")
    code, text = printed_text(fine, wrong)
    assert code == command.CHANGED and f"New defects (1):\n  {OP}: pass -> crash: exp: the process died" in text
    code, text = printed_text(wrong, fine)
    assert code == 0 and f"Fixed (1):\n  {OP}: crash -> pass\n" in text
    code, text = printed_text(wrong, more)
    assert (
        code == command.CHANGED and f"{OP}: crash -> crash, new failing ops: log" in text and f"{RAISES}: pass" in text
    )
    assert printed_text(more, wrong)[0] == 0


def test_runs_of_two_suites_are_not_compared_silently(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = written(tmp_path / "old.jsonl", replace(HEADER, suite="0.0"), *RULES[:2], *PASSES[:2], FOOTER)
    new = written(tmp_path / "new.jsonl", HEADER, *RULES, *PASSES, FOOTER)
    assert command.main(["diff", str(old), str(new)]) == command.USAGE
    assert "suite 0.0" in capsys.readouterr().err
    assert command.main(["diff", str(old), str(new), "--across-suites"]) == 0
    shown = capsys.readouterr().out
    assert "also differ in: suite 0.0 and 0.1" in shown
    assert f"Rules that only the second run has (1):\n  {OP}: pass" in shown


def test_files_are_checked_each_with_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sound, cut = written(tmp_path / "r.jsonl", *EVERY), written(tmp_path / "cut.jsonl", HEADER)
    assert command.main(["validate", str(cut), str(sound)]) == command.INVALID
    printed = capsys.readouterr()
    assert printed.out == f"{sound}: valid: toytorch 1.2, 3 rules, 2 failures\n"
    assert printed.err == f"reports: {cut}, line 1: the file ends without a footer: the run was killed here\n"
    assert command.main(["validate", str(cut), "--allow-truncated"]) == 0


def test_a_summary_for_a_step_is_brief_markdown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path / "r.jsonl", *EVERY)
    assert command.main(["summary", "--brief", str(file)]) == 0
    page = capsys.readouterr().out
    assert page.startswith("### toytorch 1.2: not conformant\n")
    assert (
        f"| silently wrong | `{RAISES}` | returned; a.grad is" in page
        and "| **all** | **1 of 3** | **-** | 300 |" in page
    )


def test_the_suite_s_command_has_these_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert suite.main(["report", "validate", str(written(tmp_path / "r.jsonl", *EVERY))]) == 0
    assert "valid" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        suite.main(["report", "--help"])
    assert "autograd-conformance report" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words", [[], ["site"], ["site", "only-a-folder"], ["diff", "one"], ["badge", "r.jsonl", "--no"]]
)
def test_wrong_words_end_with_the_code_for_them(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(words)
    assert ended.value.code == command.USAGE and "usage:" in capsys.readouterr().err
