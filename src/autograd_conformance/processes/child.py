"""Starts Python and other commands as child processes, and waits for their ends. The module `guard` forks this process
instead.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, NamedTuple

from autograd_conformance.frameworks.remote.command import OWN

LOADING = 120.0
"""Seconds that a process has to load the framework and the reference, before its first program."""


CLOSED = "the framework closed file descriptors of its process that the suite had opened"
"""Message if a file descriptor that the suite opened is no longer valid."""

HASHES = "PYTHONHASHSEED"
"""Environment variable that seeds Python's string hashes, and with them the order of sets."""


PYTHON = (sys.executable, "-P")
"""The command of this Python interpreter. `-P` keeps it from importing modules of the current folder."""


class _Running:
    """The processes that this process waits for, and whether and until when it may start others."""

    processes: ClassVar[set[subprocess.Popen[bytes]]] = set()
    stopped = False
    until: float = math.inf


def stop_all() -> None:
    """Ends all processes that `finished` waits for in this process, and lets `finished` start none from now on."""
    _Running.stopped = True
    for process in tuple(_Running.processes):
        process.kill()


def allow_starting() -> None:
    """Allows `finished` to start processes again, after `stop_all`."""
    _Running.stopped = False


@contextmanager
def deadline(moment: float) -> Iterator[None]:
    """Ends every process that `finished` waits for at a time on the monotonic clock, inside a `with` block."""
    before, _Running.until = _Running.until, moment
    try:
        yield
    finally:
        _Running.until = before


def _at_most(seconds: float | None) -> float | None:
    """Returns the largest number of seconds to wait for a process, given the caller's limit; None if there is none."""
    left = _Running.until - time.monotonic()
    if math.isinf(left):
        return seconds
    return max(0.0, left if seconds is None else min(seconds, left))


class Finished(NamedTuple):
    """How a child process ended, and what it printed."""

    code: int | None
    """Exit code, or the negative number of the signal that ended the process. None if it timed out, or if the run is
    stopped.
    """
    printed: str
    """The standard output of the process."""
    errors: str
    """The standard error of the process."""


def finished(
    arguments: Sequence[str],
    seconds: float | None,
    folder: Path,
    command: Sequence[str] = PYTHON,
    variables: Mapping[str, str] | None = None,
) -> Finished:
    """Runs Python or another command to its end, and returns how it ended; `seconds` is the timeout, or None.
    `variables` are set in addition to this process's environment.

    The output goes to files in `folder`: a process that a framework leaves running would keep a pipe open and block
    this process.
    """
    if _Running.stopped or time.monotonic() >= _Running.until:
        return Finished(None, "", "")
    out, err = folder / "stdout", folder / "stderr"
    with out.open("wb") as printed, err.open("wb") as errors:
        process = subprocess.Popen(
            [*command, *arguments],
            env=(environment() if tuple(command) in (PYTHON, PYTHON[:1]) else own_environment())
            | dict(variables or {}),
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=errors,
        )
        _Running.processes.add(process)
        try:
            if _Running.stopped:  # by a signal during the start
                process.kill()
            code = process.wait(_at_most(seconds))
        except subprocess.TimeoutExpired:
            code = None
        finally:
            process.kill()
            process.wait()
            _Running.processes.discard(process)
    return Finished(code, *(file.read_text(encoding="utf-8", errors="replace") for file in (out, err)))


def environment() -> dict[str, str]:
    """Returns the environment variables of this process, with a PYTHONPATH by which another process finds the same
    modules.
    """
    own = os.environ.get(OWN, os.environ.get("PYTHONPATH", ""))
    return {**os.environ, OWN: own, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def own_environment() -> dict[str, str]:
    """Returns the user's environment variables, with which another interpreter finds its own packages."""
    own = os.environ.get(OWN, os.environ.get("PYTHONPATH", ""))
    return {**os.environ, OWN: own, "PYTHONPATH": own}


def with_folder() -> dict[str, str]:
    """Returns the variable PYTHONPATH with which another interpreter also finds modules of the current folder."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, (own_environment()["PYTHONPATH"], os.getcwd())))}
