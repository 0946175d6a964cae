"""Files on disk, several of them and from the command line; and what reports may import."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from autograd_conformance.reports import command
from autograd_conformance.reports.combine import combine
from autograd_conformance.reports.records import Framework
from autograd_conformance.reports.render import markdown
from autograd_conformance.reports.stream import InvalidReport, read
from tests.reports.miniatures import EVERY, FOOTER, HEADER, written


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
    command = [sys.executable, "-m", "autograd_conformance.reports", str(file)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (3, "")
    assert ran.stderr.splitlines() == [
        f"reports: {file}, line 1: the file ends without a footer: the run was cut off here"
    ]


def test_reports_stand_on_the_ground_floor_alone() -> None:
    allowed = {
        *sys.stdlib_module_names,
        "reports",
        "rich",
        "jinja2",
        "markupsafe",
        "jsonschema",
        "grandalf",
        "pygments",
    }
    for module in Path(command.__file__).parent.rglob("*.py"):
        found = re.findall(r"^\s*(?:from|import) (?:autograd_conformance\.)?(\w+)", module.read_text(), re.MULTILINE)
        assert set(found) <= allowed, module.name
