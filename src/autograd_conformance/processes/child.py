"""Processes of Python that this one starts, beside those that it forks."""

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
"""Seconds that a process may take before its first program: to load the framework and the reference."""


CLOSED = "the framework closed files of the process that it runs in, which the suite had open"
"""What is said where a file descriptor is none any more."""

HASHES = "PYTHONHASHSEED"
"""The variable that seeds the hashes of strings in a process of Python's, and with them the order of sets."""


PYTHON = (sys.executable, "-P")
"""The words that start this Python; it does not look for modules in the current folder, where anything may lie."""


class _Running:
    """The processes that are waited for, until this process is to stop."""

    processes: ClassVar[set[subprocess.Popen[bytes]]] = set()
    stopped = False
    until: float = math.inf


def stop_all() -> None:
    """End all processes that are waited for; none is started from now on: the run is to stop."""
    _Running.stopped = True
    for process in tuple(_Running.processes):
        process.kill()


def allow_starting() -> None:
    """Processes may be started again: what was stopped has ended."""
    _Running.stopped = False


@contextmanager
def deadline(moment: float) -> Iterator[None]:
    """Have whatever is waited for end by a moment, on the monotonic clock."""
    before, _Running.until = _Running.until, moment
    try:
        yield
    finally:
        _Running.until = before


def _at_most(seconds: float | None) -> float | None:
    """How long a process may be waited for."""
    left = _Running.until - time.monotonic()
    if math.isinf(left):
        return seconds
    return max(0.0, left if seconds is None else min(seconds, left))


class Finished(NamedTuple):
    """How a process ended."""

    code: int | None
    """Its exit code, that of a signal below zero; None where it took longer than it may, or the run is to stop."""
    printed: str
    """What it wrote to its standard output."""
    errors: str
    """What it wrote to its standard error."""


def finished(
    arguments: Sequence[str],
    seconds: float | None,
    folder: Path,
    command: Sequence[str] = PYTHON,
    variables: Mapping[str, str] | None = None,
) -> Finished:
    """Run Python, or another command, with some arguments, and keep what it writes in a folder; None is no limit. Its
    environment is as this process's, with some variables set otherwise.

    In files: processes that a framework leaves would hold a pipe open, and this one with it.
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
            if _Running.stopped:  # by a signal that came while it was started
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
    """This process's environment, in which another finds what this one finds."""
    own = os.environ.get(OWN, os.environ.get("PYTHONPATH", ""))
    return {**os.environ, OWN: own, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def own_environment() -> dict[str, str]:
    """The user's environment, in which another interpreter finds its own packages."""
    own = os.environ.get(OWN, os.environ.get("PYTHONPATH", ""))
    return {**os.environ, OWN: own, "PYTHONPATH": own}


def with_folder() -> dict[str, str]:
    """The variable with which another interpreter finds what lies in the current folder, too."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, (own_environment()["PYTHONPATH"], os.getcwd())))}
