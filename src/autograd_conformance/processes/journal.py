"""The journal: which program a worker is running, on disk before it runs, so that a crash or a hang loses nothing.

One small file per worker, whose first two lines are rewritten in place: what a longer program left behind them stays,
as cutting it off costs more than writing. A hang is ended by a watchdog of the interpreter's own, which needs no Python
to run: it writes its mark beside the journal and ends the process; whoever finds the mark calls it a timeout. Where a
framework switches that watchdog off, the process that started this one sees that the journal grows old.
"""

from __future__ import annotations

import faulthandler
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.processes.timeouts import stretched
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.language import Program

TIMEOUT = 60.0
"""Seconds after which a program counts as hung."""

RENEW = 5.0
"""The watchdog is set anew at most this often, in seconds: setting it costs more than a program."""

GRACE = 3.0
"""Seconds more that a program has before its process is ended from outside."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a journal holds of a process that died."""

    test: str
    """The test that was running."""
    rule: str
    """The rule that it is about."""
    op: str | None
    """The op that it is about, if it is about one."""
    program: Program
    """The program that was running."""
    timed_out: bool
    """Whether the watchdog ended it."""


class Journal:
    """The journal of one worker in a folder."""

    def __init__(self, folder: Path, worker: str, timeout: float = TIMEOUT) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path, self.mark = _paths(folder, worker)
        self.file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        self.watchdog = open(self.mark, "w")  # noqa: SIM115 - faulthandler keeps the descriptor
        self.timeout = timeout
        self.renew = min(RENEW, timeout / 4)
        self.renewed = 0.0
        self.test = ""

    def begin(self, test: str, rule: str, op: str | None) -> None:
        """A test begins."""
        self.test = f"{test}\t{rule}\t{op or ''}"

    def write(self, program: Program) -> None:
        """A program is about to run."""
        now = time.monotonic()
        if now - self.renewed > self.renew:
            faulthandler.dump_traceback_later(stretched(self.timeout), exit=True, file=self.watchdog)
            self.renewed = now
        os.pwrite(self.file, f"{self.test}\n{codec.dumps(program)}\n".encode(), 0)

    def end(self) -> None:
        """Nothing is running, until a program is written down again: a test is over, or other processes are at work."""
        faulthandler.cancel_dump_traceback_later()
        self.renewed = 0.0
        os.ftruncate(self.file, 0)

    def close(self) -> None:
        """The worker is done: its journal is no longer needed."""
        self.end()
        os.close(self.file)
        self.watchdog.close()
        self.path.unlink(missing_ok=True)
        self.mark.unlink(missing_ok=True)


class Observer:
    """Looks at a worker's journal from another process: a framework may switch off the watchdog of its own process."""

    def __init__(self, folder: Path, worker: str, timeout: float) -> None:
        self.path, self.mark = _paths(folder, worker)
        self.timeout = timeout
        self.seen: tuple[int, int] | None = None
        self.since = time.monotonic()
        self.limit = 0.0

    def mark_if_hung(self) -> bool:
        """Whether one program has been running for longer than the watchdog of its process allows; it is marked then.

        The watchdog's limit hangs on the load when it was set, so the largest one since then counts.
        """
        now, seen = time.monotonic(), self._look()
        if seen != self.seen or seen is None:
            self.seen, self.since, self.limit = seen, now, 0.0
        self.limit = max(self.limit, stretched(self.timeout) + RENEW + GRACE)
        stuck = seen is not None and now - self.since > self.limit
        if stuck:
            self.mark.write_text("ended from outside\n")
        return stuck

    def _look(self) -> tuple[int, int] | None:
        """When the journal was written last, and its size; None where no program is running."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return (found.st_mtime_ns, found.st_size) if found.st_size else None


def pop(folder: Path, worker: str) -> Entry | None:
    """What a worker was running when it died, or None; its journal goes."""
    entry = read(folder, worker)
    for path in _paths(folder, worker):
        path.unlink(missing_ok=True)
    return entry


def read(folder: Path, worker: str) -> Entry | None:
    """What a worker was running when it died, or None."""
    path, mark = _paths(folder, worker)
    try:
        head, text, _ = path.read_text(errors="replace").split("\n", 2)
        test, rule, op = head.split("\t")
        program = codec.loads(text, VOCABULARY)
    except (OSError, ValueError, json.JSONDecodeError):
        return None
    return Entry(test, rule, op or None, program, mark.exists() and mark.stat().st_size > 0)


def _paths(folder: Path, worker: str) -> tuple[Path, Path]:
    return folder / f"journal-{worker}", folder / f"journal-{worker}.timeout"
