"""The history of a folder of record files compares runs of one framework, device and suite; files may be compressed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autograd_conformance.reporting import command
from autograd_conformance.reporting.analysis.summary import summarize
from autograd_conformance.reporting.comparison.history import add, lines, record_files
from autograd_conformance.reporting.records import stream
from autograd_conformance.reporting.records.records import Report
from autograd_conformance.reporting.records.stream import InvalidReport, read, records, write
from tests.reporting.miniatures import BROKEN, FAILURE, FOOTER, HEADER, PASSES, RULES, SOUND, written

LATER = replace(HEADER, seed=8, started="2026-02-03T00:00:00Z")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(BROKEN, tmp_path / "made" / "records.jsonl")
    assert command.main(["history", str(tmp_path / "made")]) == 0
    assert summarize(BROKEN).conclusion in capsys.readouterr().out
    (tmp_path / "none").mkdir()
    assert command.main(["history", str(tmp_path / "none")]) == command.USAGE


def test_a_history_compares_like_with_like() -> None:
    before = SOUND
    after = Report(
        replace(LATER, framework=replace(HEADER.framework, version="1.3")), RULES, PASSES, (FAILURE,), FOOTER
    )
    later = replace(after, header=replace(after.header, suite="0.2", started="2026-03-01T00:00:00Z"), failures=())
    elsewhere = replace(before, header=replace(HEADER, device="cuda"))
    said = list(lines([later, elsewhere, after, before]))
    assert [line for line in said if not line.startswith(" ")] == ["toytorch on cpu", "toytorch on cuda"]
    assert said[3] == f"    new (1): {FAILURE.rule}"
    assert "another version of the suite" in said[5] and not any("fixed" in line for line in said)


def test_compressed_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = written(tmp_path / "r.jsonl", *records(BROKEN))
    kept = add(plain, tmp_path / "history")
    assert kept.suffix == ".gz" and read(kept) == BROKEN and add(plain, tmp_path / "history") == kept
    assert record_files(tmp_path) == sorted([plain, kept])
    with monkeypatch.context() as less:
        less.setattr(stream, "LONGEST", 1000)
        with pytest.raises(InvalidReport, match="larger than"):
            read(kept)
    kept.write_bytes(kept.read_bytes()[:-20])
    with pytest.raises(InvalidReport, match="gzip"):
        read(kept)
