"""The end of what a process that died could not write itself: the result of its test, or of the whole run."""

from __future__ import annotations

from pathlib import Path

from autograd_conformance.harness.journal import Entry
from autograd_conformance.harness.session import Session, now
from autograd_conformance.reports.failure import Failure
from autograd_conformance.reports.records import Footer, Result
from autograd_conformance.reports.render import markdown
from autograd_conformance.reports.stream import Writer, load, read


def result_of(entry: Entry, failure: Failure) -> Result:
    """The result of a test whose process died."""
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
    """Give the records of a run that died without a worker their end, and make its page; the page's path."""
    path, page = session.folder / "records.jsonl", session.folder / "report.md"
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rfind(b"\n") + 1])  # less a line that was being written
    before = load(path, allow_truncated=True)
    with Writer(path, "a") as writer:
        writer.write(failure)
        writer.write(result_of(entry, failure))
        writer.write(
            Footer(
                verdict="interrupted",
                finished=now(),
                seconds=0.0,
                tests=len(before.results) + 1,
                programs=before.programs + 1,
                exit_code=exit_code,
            )
        )
    markdown.write(read(path), page)
    return page
