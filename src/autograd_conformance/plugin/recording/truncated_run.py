"""Writes the last records of a run whose process died before it could write them itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from autograd_conformance.checking.session import Session
from autograd_conformance.checking.session.records import now
from autograd_conformance.failures.interrupted import pending
from autograd_conformance.processes.journal import Entry
from autograd_conformance.reporting.analysis.causes import causes
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import Footer, Record, Report, Result
from autograd_conformance.reporting.records.stream import Writer, load, read
from autograd_conformance.reporting.render import issue, markdown


def result_of(entry: Entry, failure: Failure) -> Result:
    """Returns the result of a test whose process died: the verdict of the failure, after one program."""
    return Result(
        test=entry.test,
        rule=entry.rule,
        op=entry.op,
        verdict=failure.verdict,
        programs=1,
        seconds=0.0,
        reason=failure.observed,
    )


def end_cut_off(session: Session, entry: Entry, failure: Failure, exit_code: int) -> Path:
    """Adds the missing last records after the process of a run without workers died, writes the page `report.md`, and
    returns its path.
    """
    _, page = _ended(session.settings.folder, (failure, result_of(entry, failure)), None, exit_code)
    return page


def end_stopped(folder: Path, reason: str, exit_code: int) -> tuple[Report, Path]:
    """Adds the missing last records after a run was stopped and ended without writing them, and writes the page
    `report.md`. Returns the report and the page's path.
    """
    return _ended(folder, tuple(pending.take(folder)), reason, exit_code)


def _ended(folder: Path, more: Sequence[Record], reason: str | None, exit_code: int) -> tuple[Report, Path]:
    path, page = folder / "records.jsonl", folder / "report.md"
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rfind(b"\n") + 1])  # less a line that was being written
    before = load(path, allow_truncated=True)
    if before.footer is None:
        results = [each for each in more if isinstance(each, Result)]
        with Writer(path, "a") as writer:
            for record in more:
                writer.write(record)
            writer.write(
                Footer(
                    verdict="interrupted",
                    finished=now(),
                    seconds=0.0,
                    tests=len(before.results) + len(results),
                    programs=before.programs + sum(each.programs for each in results),
                    exit_code=exit_code,
                    reason=reason,
                )
            )
    report = read(path)
    markdown.write(report, page)
    issue.write(causes(report), report.header, folder)
    return report, page
