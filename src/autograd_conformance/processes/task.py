"""A task for another Python process: a request in JSON goes in, and notes come out.

Each note is on disk before the process continues, so a crash or a hang loses only the work that was running.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from autograd_conformance.processes.child import dying_with_parent

REQUEST, NOTES, FAILED = "request.json", "notes", "failed"
"""The files of a task: its request, its notes, and the reason why the process itself failed."""

UNWRITABLE = 74
"""Exit code of a task's process that could not write its files, as EX_IOERR of sysexits.h."""

STORAGE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO})
"""Numbers of the errors of a disk that is full or cannot be written."""

Errors = tuple[type[BaseException], ...]


class UnwritableFiles(Exception):
    """The files of a task cannot be written. This says nothing about the framework."""


@contextmanager
def naming_storage() -> Iterator[None]:
    """Raises `UnwritableFiles`, inside a `with` block, for an error of a disk that is full or cannot be written."""
    try:
        yield
    except OSError as error:
        if error.errno not in STORAGE:
            raise
        raise UnwritableFiles(os.strerror(error.errno)) from None


def refuse_unwritable(status: int | None) -> None:
    """Raises `UnwritableFiles` if this is the exit code of a process that could not write its files."""
    if status == UNWRITABLE:
        raise UnwritableFiles("a process that the suite started found no room for its files")


class Task:
    """A task for another process, whose files are in a folder. The command line `command` starts that process, which
    ends when this one ends.
    """

    def __init__(self, module: str, folder: Path, request: object, notes: Iterable[object] = ()) -> None:
        """Writes the request to a file, and `notes` to the file to which the other process adds its notes."""
        self.path, self.failed = folder / NOTES, folder / FAILED
        self.path.write_text("".join(f"{json.dumps(note)}\n" for note in notes), encoding="utf-8")
        (folder / REQUEST).write_text(json.dumps(request), encoding="utf-8")
        self.command = dying_with_parent("-m", module, str(folder))

    def notes(self) -> list[Any]:
        """Returns all notes so far."""
        return read_notes(self.path.parent)

    def failure(self) -> str | None:
        """Returns the reason why the process itself failed, in its words; None if it did not fail."""
        return self.failed.read_text(encoding="utf-8") if self.failed.exists() else None


class Growth:
    """Watches whether the notes of a task grow."""

    def __init__(self, task: Task, limit: float) -> None:
        self.path, self.limit = task.path, limit
        self.size, self.since = -1, time.monotonic()

    def has_stopped(self) -> bool:
        """Looks for new notes; returns whether none was written for more than `limit` seconds."""
        size = self.path.stat().st_size
        if size != self.size:
            self.size, self.since = size, time.monotonic()
        return time.monotonic() - self.since > self.limit


class Notes:
    """Writes the notes of a task, one in each line of a file."""

    def __init__(self, folder: Path) -> None:
        self.file = (folder / NOTES).open("a", encoding="utf-8")

    def write(self, note: object) -> None:
        """Writes a note."""
        print(json.dumps(note), file=self.file, flush=True)


def read_notes(folder: Path) -> list[Any]:
    """Returns the notes of the task in a folder."""
    whole = (folder / NOTES).read_text(encoding="utf-8").split("\n")[:-1]  # a killed process may leave a part of a line
    return [json.loads(line) for line in whole]


def carry_out(
    main: Callable[[Path, Any], object], describe: Callable[[BaseException, Any], str], caught: Errors = (Exception,)
) -> NoReturn:
    """Calls `main` with the folder and the request of this process's task, and ends the process. `describe` words an
    error of a request, if `caught` has its type. The process ends with `UNWRITABLE` if it could not write its files.
    """
    folder = Path(sys.argv[1])
    request = json.loads((folder / REQUEST).read_text(encoding="utf-8"))
    try:
        with naming_storage():
            try:
                main(folder, request)
            except caught as error:
                if isinstance(error, OSError) and error.errno in STORAGE:
                    raise
                (folder / FAILED).write_text(describe(error, request), encoding="utf-8")
    except UnwritableFiles:
        os._exit(UNWRITABLE)
    os._exit(0)  # even if the framework leaves threads running
