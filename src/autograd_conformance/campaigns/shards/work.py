"""What a worker does: run a shard and keep its records, or run one failing program again.

It needs neither a framework nor Hypothesis: both are loaded in the process of the shard, which may end as it likes.
What went wrong is an answer, not an exception, so that whoever asked decides whether it is worth another try.
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

from autograd_conformance import sources
from autograd_conformance.campaigns.shards.shard import Series, Shard
from autograd_conformance.campaigns.shards.texts import put
from autograd_conformance.campaigns.storage.storage import Storage, StorageError
from autograd_conformance.checking.limits import SPENT_IN_AUDIT
from autograd_conformance.processes.child import Finished, finished
from autograd_conformance.reporting.analysis.verdicts import Exit
from autograd_conformance.reporting.prose import counted, shortened
from autograd_conformance.reporting.records.stream import InvalidReport, parse

PROCESS = "autograd_conformance.campaigns.shards.process"

REFUSED = {4: "wrong usage", 5: "no test was selected", 10: "an adapter error"}
"""Exit codes of runs that come to the same wherever the framework and the suite are the same, and what they mean."""

RULES = {Exit.PASSED, Exit.NOT_CONFORMANT, Exit.STOPPED, Exit.NO_VERDICT}
"""Exit codes of runs that say something of the framework."""

Why = Literal["refused", "too small", "other suite", "lacking", "failed", "storage"]


@dataclass(frozen=True, slots=True)
class Done:
    """A shard whose records are kept."""

    data: bytes
    """What is kept: the records, compressed."""
    worker: str
    """Where it was run."""
    made: bool
    """Whether it was run now; else its records were there already."""


@dataclass(frozen=True, slots=True)
class NotDone:
    """A task that came to nothing."""

    why: Why
    """Refused: it will be, again. Too small: so are all shards of its series. Other suite: the worker has another one
    than the campaign. Lacking: it has not the environment of a framework's version. Failed: it may do better another
    time. Storage: nothing can be kept.
    """
    said: str
    """What went wrong, in words."""
    worker: str
    """Where."""

    @property
    def is_of_worker(self) -> bool:
        """Whether another worker may do better: it has another framework, suite or environment."""
        return self.why in ("refused", "other suite", "lacking")


@dataclass(frozen=True, slots=True)
class Again:
    """What came of a failing program that was run again, alone, in a process of its own."""

    verdict: Literal["still failing", "fixed", "cannot run"]
    said: str
    """The last that the process said."""

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {"verdict": self.verdict, "said": self.said}


def here() -> str:
    """This worker, in words."""
    return f"{socket.gethostname()}, process {os.getpid()}"


def run(shard: Shard, storage: Storage, suite: str) -> Done | NotDone:
    """Run a shard, unless its records are there, and keep them; `suite` is the digest that the suite has to have."""
    if (other := other_suite(suite)) is not None:
        return other
    try:
        there = storage.read(shard.name)
        if there is not None:
            return Done(there, here(), made=False)
        with TemporaryDirectory(prefix="autograd-conformance-") as name:
            folder = Path(name)
            done = _started(shard.words(folder, folder / "report"), shard.series, folder)
            found = _records(done, folder / "report" / "records.jsonl", shard.series.programs)
        if isinstance(found, NotDone):
            return found
        data = gzip.compress(found, mtime=0)
        if storage.create(shard.name, data):
            return Done(data, here(), made=True)
        kept = storage.read(shard.name)
        return Done(data if kept is None else kept, here(), made=False)
    except StorageError as error:
        return NotDone("storage", str(error), here())
    except OSError as error:
        return NotDone("failed", f"{error.filename or ''} {error.strerror or error}".strip(), here())


def other_suite(suite: str) -> NotDone | None:
    """Why this worker runs nothing of a campaign with a suite of some digest; None where it has the same."""
    own = sources.suite()
    if own == suite:
        return None
    said = f"the suite here ({sources.SUITE_VERSION}, source {own[:8]}) is not the campaign's (source {suite[:8]})"
    return NotDone("other suite", said, here())


def _started(words: Sequence[str], series: Series, folder: Path) -> Finished:
    put((*series.known, *series.included), folder)
    return finished(["-m", PROCESS, str(os.getpid()), *words], None, folder)


def _records(done: Finished, path: Path, programs: int) -> bytes | NotDone:
    """The records that a shard of so many programs left, or why they are not to be kept."""
    if done.code in REFUSED:
        return NotDone("refused", f"{REFUSED[done.code]}: {told(done)}", here())
    if done.code not in RULES:
        return NotDone("failed", f"exit code {done.code}: {told(done)}", here())
    try:
        content = path.read_bytes()
        report = parse(content, str(path))
    except (OSError, InvalidReport) as error:
        return NotDone("failed", f"it left no sound records: {error}", here())
    if report.footer is not None and report.footer.reason == SPENT_IN_AUDIT:
        said = f"a shard of {counted(programs, 'program')} ends within the audit of the ops that it begins with"
        return NotDone("too small", f"{said}, and judges nothing: make `shard` larger", here())
    if report.footer is None or report.footer.verdict == "interrupted":
        return NotDone("failed", f"it was stopped: {report.footer and report.footer.reason}", here())
    if not report.programs:
        return NotDone("refused", "it ran no program: none of its tests applies to what the framework claims", here())
    return content


def told(done: Finished) -> str:
    """The last words of a process."""
    lines = [line for line in (done.errors or done.printed).splitlines() if line.strip()]
    return shortened(" ".join(lines[-3:]), 600)


def replay(series: Series, program: Mapping[str, Any]) -> Again:
    """Run a failing program again, alone."""
    with TemporaryDirectory(prefix="autograd-conformance-") as name:
        folder = Path(name)
        path = folder / "program.json"
        path.write_text(json.dumps(program), encoding="utf-8")
        done = _started([*series.options(folder), f"--replay={path}"], series, folder)
    said = told(done).replace(f"{path}: ", "")
    match done.code:
        case 0:
            return Again("fixed", said)
        case 1:
            return Again("still failing", said)
        case _:
            return Again("cannot run", said)


def unpacked(data: bytes) -> bytes:
    """The records that a file of the storage holds; ValueError where it is damaged."""
    try:
        return gzip.decompress(data)
    except (OSError, EOFError) as error:
        raise ValueError(f"it is damaged ({error})") from None
