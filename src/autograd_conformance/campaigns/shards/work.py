"""The tasks of a worker: runs a shard and stores its records, or replays a failing program.

A worker needs neither a framework nor Hypothesis. Both are loaded in the shard's process, which may crash. Errors are
returned, not raised, so that the campaign decides whether to retry.
"""

from __future__ import annotations

import gzip
import json
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from autograd_conformance.campaigns.shards.shard import Series, Shard
from autograd_conformance.campaigns.shards.texts import write_files
from autograd_conformance.campaigns.storage.storage import Storage, StorageError
from autograd_conformance.package import sources
from autograd_conformance.processes.child import Finished, dying_with_parent, finished
from autograd_conformance.reporting.analysis.verdicts import Exit
from autograd_conformance.reporting.prose import counted, shortened
from autograd_conformance.reporting.records.stream import InvalidReport, parse

COMMAND = "autograd_conformance.cli"
"""The module of the ordinary command, which a shard's process runs."""

REJECTED = {4: "wrong usage", 5: "no test was selected", 10: "an adapter error"}
"""Exit codes with which a run would end on every worker that has the same framework and suite, and their meanings."""

WITH_VERDICT = {Exit.PASSED, Exit.NOT_CONFORMANT, Exit.STOPPED, Exit.NO_VERDICT}
"""Exit codes after which the records of a shard's process are read; a shard with another exit code has failed."""

FailureKind = Literal["rejected", "too small", "other suite", "no environment", "failed", "storage"]


@dataclass(frozen=True, slots=True)
class Done:
    """A shard whose records are stored."""

    data: bytes
    """The stored records, compressed."""
    worker: str
    """The worker that returned the records, as text."""
    is_new: bool
    """True if the shard was run now, False if its records were stored already."""


@dataclass(frozen=True, slots=True)
class TaskFailure:
    """The result of a task that failed."""

    kind: FailureKind
    """`rejected`: every retry in the same environment would fail. `too small`: each shard of the series ends before it
    judges a program. `other suite`: the worker has another suite than the campaign. `no environment`: the worker does
    not have the environment of the framework's version. `failed`: a retry may succeed. `storage`: the storage does not
    work."""
    reason: str
    """A description of the error."""
    worker: str
    """The worker on which the task failed, as text."""

    @property
    def depends_on_worker(self) -> bool:
        """True if another worker may succeed, as it may have another framework, suite or environment."""
        return self.kind in ("rejected", "other suite", "no environment")


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The result of running a failing program again in a separate process."""

    verdict: Literal["still failing", "fixed", "cannot run"]
    reason: str
    """The last output of the process."""

    def to_json(self) -> dict[str, Any]:
        """Returns the result as plain data."""
        return {"verdict": self.verdict, "said": self.reason}

    @classmethod
    def from_json(cls, data: str | bytes) -> ReplayResult:
        """Reads a result from the content of a stored file."""
        form = json.loads(data)
        return cls(form["verdict"], form["said"])


def here() -> str:
    """Returns the host and the process ID of this worker, as text."""
    return f"{socket.gethostname()}, process {os.getpid()}"


def run(shard: Shard, storage: Storage, suite: str) -> Done | TaskFailure:
    """Runs a shard and stores its records, unless records are stored already. `suite` is the digest of the suite that
    the campaign requires.
    """
    if (other := other_suite(suite)) is not None:
        return other
    try:
        stored = storage.read(shard.name)
        if stored is not None:
            return Done(stored, here(), is_new=False)
        with TemporaryDirectory(prefix="autograd-conformance-") as name:
            folder = Path(name)
            done = _run_process(shard.arguments(folder, folder / "report"), shard.series, folder)
            found = _records(done, folder / "report" / "records.jsonl", shard.series.programs)
        if isinstance(found, TaskFailure):
            return found
        data = gzip.compress(found, mtime=0)
        if storage.create(shard.name, data):
            return Done(data, here(), is_new=True)
        kept = storage.read(shard.name)
        return Done(data if kept is None else kept, here(), is_new=False)
    except StorageError as error:
        return TaskFailure("storage", str(error), here())
    except OSError as error:
        return TaskFailure("failed", f"{error.filename or ''} {error.strerror or error}".strip(), here())


def other_suite(suite: str) -> TaskFailure | None:
    """Returns the failure of a worker whose suite has another digest than `suite`; None if the digests are equal."""
    own = sources.suite()
    if own == suite:
        return None
    reason = f"the suite here ({sources.SUITE_VERSION}, source {own[:8]}) is not the campaign's (source {suite[:8]})"
    return TaskFailure("other suite", reason, here())


def _run_process(arguments: Sequence[str], series: Series, folder: Path) -> Finished:
    write_files((*series.known, *series.included), folder)
    return finished(dying_with_parent("-m", COMMAND, *arguments), None)


def _records(done: Finished, path: Path, programs: int) -> bytes | TaskFailure:
    """Returns the records of a shard's process, or a failure that says why they are not valid."""
    if done.code in REJECTED:
        return TaskFailure("rejected", f"{REJECTED[done.code]}: {last_output(done)}", here())
    if done.code not in WITH_VERDICT:
        return TaskFailure("failed", f"exit code {done.code}: {last_output(done)}", here())
    try:
        content = path.read_bytes()
        report = parse(content, str(path))
    except (OSError, InvalidReport) as error:
        return TaskFailure("failed", f"it left no valid records: {error}", here())
    if report.footer is not None and report.footer.cut_in_audit == "programs":
        reason = f"a shard of {counted(programs, 'program')} ends during the initial audit of the ops"
        return TaskFailure("too small", f"{reason}, and judges nothing: make `shard` larger", here())
    if report.footer is None or report.footer.verdict == "interrupted":
        return TaskFailure("failed", f"it was interrupted: {report.footer and report.footer.reason}", here())
    if not report.programs:
        return TaskFailure(
            "rejected", "it ran no program: none of its tests applies to what the framework claims", here()
        )
    return content


def last_output(done: Finished) -> str:
    """Returns the last three lines that a process printed, shortened: of its errors, if there are any."""
    lines = [line for line in (done.errors or done.printed).splitlines() if line.strip()]
    return shortened(" ".join(lines[-3:]), 600)


def replay(series: Series, program: Mapping[str, Any]) -> ReplayResult:
    """Runs a failing program of a series again in a separate process, and returns the result."""
    with TemporaryDirectory(prefix="autograd-conformance-") as name:
        folder = Path(name)
        path = folder / "program.json"
        path.write_text(json.dumps(program), encoding="utf-8")
        done = _run_process([*series.options(folder), f"--replay={path}"], series, folder)
    reason = last_output(done).replace(f"{path}: ", "")
    match done.code:
        case 0:
            return ReplayResult("fixed", reason)
        case 1:
            return ReplayResult("still failing", reason)
        case _:
            return ReplayResult("cannot run", reason)


def decompressed(data: bytes) -> bytes:
    """Returns the records in a stored file. Raises ValueError if the file is damaged."""
    try:
        return gzip.decompress(data)
    except (OSError, EOFError) as error:
        raise ValueError(f"it is damaged ({error})") from None
