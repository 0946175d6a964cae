"""Runs put together count everything once, and unlike ones are refused; a history compares like with like."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from autograd_conformance.reports import command, stream
from autograd_conformance.reports.history import add, lines, record_files
from autograd_conformance.reports.merge import Unlike, merged, records
from autograd_conformance.reports.records import Report
from autograd_conformance.reports.stream import InvalidReport, assembled, read
from autograd_conformance.reports.summary import summarize
from tests.reports.miniatures import CLAIMS, COVERAGE, FAILURE, FOOTER, HEADER, KNOWN, PASSES, RULES, written

OTHER = replace(HEADER, seed=8, started="2026-02-03T00:00:00Z", platform="Darwin arm64")
FIRST = Report(HEADER, RULES, PASSES[:1], (), replace(FOOTER, deselected=2, tests=1))
SECOND = Report(OTHER, RULES, PASSES[1:], (FAILURE,), replace(FOOTER, deselected=1, tests=2, exit_code=1))


def test_shards_together_are_the_whole_run() -> None:
    whole = merged([FIRST, SECOND])
    assert whole.results == PASSES and whole.failures == (FAILURE,)
    assert whole.footer is not None
    assert (whole.footer.tests, whole.footer.deselected, whole.footer.exit_code) == (len(PASSES), 0, 1)
    assert whole.header.seed is None and whole.header.platform == "Linux x86_64, Darwin arm64"
    assert assembled(records(whole)) == whole


def test_what_two_runs_showed_is_added_up() -> None:
    both = [replace(each, known=(KNOWN,), claims=CLAIMS, coverage=(COVERAGE,)) for each in (FIRST, SECOND)]
    whole = merged(both)
    assert [each.seen for each in whole.known] == [2 * KNOWN.seen]
    assert whole.claims == CLAIMS
    once = {action: n for setting in COVERAGE.met for action, n in setting.actions.items()}
    twice = {action: n for setting in whole.coverage[0].met for action, n in setting.actions.items()}
    assert twice == {action: 2 * n for action, n in once.items()}


def test_a_failure_that_two_runs_found_is_one() -> None:
    again = replace(SECOND, header=replace(OTHER, seed=9))
    assert merged([SECOND, again]).failures == (FAILURE,)
    another = replace(again, failures=(replace(FAILURE, program={"version": 1, "instructions": []}),))
    assert len(merged([SECOND, another]).failures) == 2


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (replace(SECOND, header=replace(OTHER, suite="0.2")), "suite: 0.1 and 0.2"),
        (replace(SECOND, header=replace(OTHER, device="cuda")), "device: cpu and cuda"),
        (replace(SECOND, header=replace(OTHER, framework=replace(HEADER.framework, version="2"))), "framework: toy"),
        (replace(SECOND, header=replace(OTHER, framework=replace(HEADER.framework, ops=1))), "claims"),
        (replace(SECOND, rules=RULES[:-1], results=()), "rules"),
        (replace(SECOND, footer=None), "cut off"),
        (FIRST, "count twice"),
    ],
)
def test_unlike_runs_are_refused(other: Report, what: str) -> None:
    with pytest.raises(Unlike, match=what):
        merged([FIRST, other])


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [written(tmp_path / f"{n}.jsonl", *records(each)) for n, each in enumerate((FIRST, SECOND))]
    out = tmp_path / "made" / "whole.jsonl"
    assert command.main(["combine", str(out), *map(str, files)]) == 0
    assert read(out) == merged([FIRST, SECOND])
    assert command.main(["combine", str(out), str(files[0]), str(files[0])]) == command.USAGE
    assert read(out) == merged([FIRST, SECOND])
    assert command.main(["history", str(tmp_path / "made")]) == 0
    assert summarize(SECOND).conclusion in capsys.readouterr().out
    (tmp_path / "none").mkdir()
    assert command.main(["history", str(tmp_path / "none")]) == command.USAGE


def test_a_history_compares_like_with_like() -> None:
    before = replace(FIRST, results=PASSES)
    after = Report(
        replace(OTHER, framework=replace(HEADER.framework, version="1.3")), RULES, PASSES, (FAILURE,), FOOTER
    )
    later = replace(after, header=replace(after.header, suite="0.2", started="2026-03-01T00:00:00Z"), failures=())
    elsewhere = replace(before, header=replace(HEADER, device="cuda"))
    said = list(lines([later, elsewhere, after, before]))
    assert [line for line in said if not line.startswith(" ")] == ["toytorch on cpu", "toytorch on cuda"]
    assert said[3] == f"    new (1): {FAILURE.rule}"
    assert "another suite" in said[5] and not any("fixed" in line for line in said)


def test_compressed_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = written(tmp_path / "r.jsonl", *records(SECOND))
    kept = add(plain, tmp_path / "history")
    assert kept.suffix == ".gz" and read(kept) == SECOND and add(plain, tmp_path / "history") == kept
    assert record_files(tmp_path) == sorted([plain, kept])
    with monkeypatch.context() as less:
        less.setattr(stream, "LONGEST", 1000)
        with pytest.raises(InvalidReport, match="longer than"):
            read(kept)
    kept.write_bytes(kept.read_bytes()[:-20])
    with pytest.raises(InvalidReport, match="gzip"):
        read(kept)
