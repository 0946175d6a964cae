"""The journal: a file with the program that a worker is running, written before the program runs, so that a crash or a
hang loses nothing.

Each worker has one small file, whose first two lines are rewritten in place. The end of a longer earlier program
remains after them, since truncating costs more than writing. The interpreter's own watchdog ends a hang and needs no
Python for this: it writes a mark beside the journal, and ends the process. A journal with a mark is a timeout. If a
framework switches the watchdog off, the parent process detects that the journal no longer changes.

The stacks of a process that a signal ends, or that hangs, go to `crashes.txt`, since forty lines of each would hide the
report in the terminal.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.processes.timeouts import scaled_timeout
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.formats.text import render
from autograd_conformance.programs.language import Program

TIMEOUT = 60.0
"""Seconds after which a program counts as hung, if the user sets no other number."""

RENEW = 5.0
"""Smallest number of seconds between two restarts of the watchdog; a restart costs more than a program."""

CRASHES = "crashes.txt"
"""Name of the file with the stacks of the processes that died."""

GRACE = 3.0
"""Seconds that another process waits after the watchdog's limit before it ends a process that hangs."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The test and the program that a process was running when it died, read from its journal."""

    test: str
    """Name of the running test."""
    rule: str
    """Slug of the rule that the test is about."""
    op: str | None
    """The op of the test, if it is about one."""
    program: Program
    """The running program."""
    timed_out: bool
    """Whether the process was ended because the program ran too long."""


class Journal:
    """Writes the journal of one worker: a file in a folder that names the program that the worker is running."""

    def __init__(self, folder: Path, worker: str, timeout: float = TIMEOUT) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path, self.mark, self.stacks = _paths(folder, worker)
        self.file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        self.watchdog = open(self.mark, "w")  # noqa: SIM115 - faulthandler keeps the descriptor
        self.crash = open(self.stacks, "w")  # noqa: SIM115 - the same
        self.was_enabled = faulthandler.is_enabled()
        faulthandler.enable(file=self.crash)
        self.timeout = timeout
        self.renew = min(RENEW, timeout / 4)
        self.renewed = 0.0
        self.test = ""

    def begin(self, test: str, rule: str, op: str | None) -> None:
        """Names the test whose programs are written from now on, with its rule and its op."""
        self.test = f"{test}\t{rule}\t{op or ''}"

    def write(self, program: Program) -> None:
        """Writes a program that is about to run, and restarts the watchdog if its last start was some seconds ago."""
        now = time.monotonic()
        if now - self.renewed > self.renew:
            faulthandler.dump_traceback_later(scaled_timeout(self.timeout), exit=True, file=self.watchdog)
            self.renewed = now
        os.pwrite(self.file, f"{self.test}\n{codec.dumps(program)}\n".encode(), 0)

    def end(self) -> None:
        """Empties the journal and stops the watchdog, because no program is running: after a test, or while other
        processes work.
        """
        faulthandler.cancel_dump_traceback_later()
        self.renewed = 0.0
        os.ftruncate(self.file, 0)

    def close(self) -> None:
        """Removes the journal's files at the regular end of the worker. The stack of a later crash goes to the
        terminal.
        """
        self.end()
        faulthandler.disable()
        if self.was_enabled and sys.__stderr__ is not None:
            faulthandler.enable(file=sys.__stderr__)
        os.close(self.file)
        self.watchdog.close()
        self.crash.close()
        for path in (self.path, self.mark, self.stacks):
            path.unlink(missing_ok=True)


class Observer:
    """Watches a worker's journal from another process, since a framework may switch off that worker's watchdog."""

    def __init__(self, folder: Path, worker: str, timeout: float) -> None:
        self.path, self.mark, _ = _paths(folder, worker)
        self.timeout = timeout
        self.state: tuple[int, int] | None = None
        self.since = time.monotonic()
        self.limit = 0.0

    def mark_if_hung(self) -> bool:
        """Marks a timeout and returns True if one program has run longer than the watchdog of its process allows.

        The watchdog's limit depends on the load when it was set, so the largest limit since then counts.
        """
        now, state = time.monotonic(), self._look()
        if state != self.state or state is None:
            self.state, self.since, self.limit = state, now, 0.0
        self.limit = max(self.limit, scaled_timeout(self.timeout) + RENEW + GRACE)
        stuck = state is not None and now - self.since > self.limit
        if stuck:
            self.mark.write_text("ended from outside\n")
        return stuck

    def _look(self) -> tuple[int, int] | None:
        """Returns the time of the last write to the journal, and the journal's size; None if no program is running."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return (found.st_mtime_ns, found.st_size) if found.st_size else None


def pop(folder: Path, worker: str) -> Entry | None:
    """Returns the test and the program that a worker was running when it died, or None if it was running no program;
    removes the journal, and adds the worker's last stack to `crashes.txt`.
    """
    entry = read(folder, worker)
    path, mark, stacks = _paths(folder, worker)
    if entry is not None:
        _keep_stack(folder / CRASHES, entry, mark if entry.timed_out else stacks)
    for each in (path, mark, stacks):
        each.unlink(missing_ok=True)
    return entry


def _keep_stack(crashes: Path, entry: Entry, stacks: Path) -> None:
    """Adds the stack of a process that died while it ran a program; a disk that is full loses the stack alone."""
    with suppress(OSError):
        stack = stacks.read_text(errors="replace").strip()
        if stack:
            with crashes.open("a") as file:
                file.write(f"{entry.test}\n{render(entry.program)}\n\n{stack}\n\n\n")


def read(folder: Path, worker: str) -> Entry | None:
    """Returns the test and the program that a worker was running when it died, or None if it was running no program."""
    path, mark, _ = _paths(folder, worker)
    try:
        head, text, _ = path.read_text(errors="replace").split("\n", 2)
        test, rule, op = head.split("\t")
        program = codec.loads(text, VOCABULARY)
    except (OSError, ValueError, json.JSONDecodeError):
        return None
    return Entry(test, rule, op or None, program, mark.exists() and mark.stat().st_size > 0)


def _paths(folder: Path, worker: str) -> tuple[Path, Path, Path]:
    """Returns the paths of a worker's journal, of the mark of a timeout, and of the stacks at a crash."""
    return folder / f"journal-{worker}", folder / f"journal-{worker}.timeout", folder / f"journal-{worker}.stacks"
