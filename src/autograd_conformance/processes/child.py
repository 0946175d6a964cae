"""Starts other programs as child processes: knows how each ended and what it wrote, bounds its time, and ends it.

The module `guard` forks this process instead. `supervision` waits for both kinds of process and ends them.
"""

from __future__ import annotations

import fcntl
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from tempfile import TemporaryFile
from typing import ClassVar, NamedTuple

from autograd_conformance.processes.supervision import kill_group, status_within

LOADING = 120.0
"""Seconds that a process has to load the framework and the reference, before its first program."""


CLOSED = "the framework closed file descriptors of its process that the suite had opened"
"""Message if a file descriptor that the suite opened is no longer valid."""

HASHES = "PYTHONHASHSEED"
"""Environment variable that seeds Python's string hashes, and with them the order of sets."""

OWN = "AUTOGRAD_CONFORMANCE_PYTHONPATH"
"""The environment variable that stores the user's own PYTHONPATH for processes whose PYTHONPATH the suite sets."""

PYTHON = (sys.executable, "-P")
"""The command of this Python interpreter. `-P` keeps it from importing modules of the current folder."""


class Output:
    """Everything that a process writes to one of its outputs, in a file without a name.

    A pipe would block this process if the framework left another process running that keeps the pipe open.
    """

    def __init__(self) -> None:
        self.file = TemporaryFile()  # noqa: SIM115 - open as long as this object is in use
        fcntl.fcntl(self.file, fcntl.F_SETFL, os.O_APPEND)  # the file may be truncated while the process writes

    def text(self, last: int | None = None) -> str:
        """Returns everything that the process has written so far, or only the whole lines among the last `last`
        bytes.
        """
        size = os.fstat(self.file.fileno()).st_size
        start = 0 if last is None else max(0, size - last)
        text = os.pread(self.file.fileno(), size - start, start).decode(errors="replace")
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        return text.partition("\n")[2] if start else text

    def __del__(self) -> None:
        """Closes the file, as Python warns of an open one; the framework may have closed it."""
        with suppress(OSError):
            self.file.close()

    def truncate(self, most: int) -> None:
        """Empties the file if it is larger than this number of bytes."""
        if os.fstat(self.file.fileno()).st_size > most:
            os.ftruncate(self.file.fileno(), 0)


class Child:
    """A process that runs a command. Its standard error is kept in a file."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        printed: Output | None = None,
        is_server: bool = False,
    ) -> None:
        """Starts the process. Raises `OSError` if the program does not exist.

        Its standard output goes to `printed`, or is lost. A server has two pipes instead, and a process group that ends
        with it. The processes that others start end with the process group of the run, which `guard` ends.
        """
        self.errors, self.is_server = Output(), is_server
        out = subprocess.DEVNULL if printed is None else printed.file
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE if is_server else subprocess.DEVNULL,
            stdout=subprocess.PIPE if is_server else out,
            stderr=self.errors.file,
            env=dict(environment),
            bufsize=0,
            start_new_session=is_server,
        )
        self.pipes = [pipe for pipe in (self.process.stdin, self.process.stdout) if pipe is not None]
        """The pipes to the standard input and output of a server process; empty for other processes."""

    @property
    def status(self) -> int | None:
        """Exit code, or the negative number of the signal that ended the process; None if it runs."""
        return self.process.poll()

    def wait(self, seconds: float | None) -> int | None:
        """Returns `status` as soon as the process has ended, but at most after this number of seconds."""
        return status_within(self.process, seconds)

    def kill(self) -> None:
        """Kills the process, or the process group of a server."""
        if self.is_server:
            kill_group(self.process)
        else:
            self.process.kill()

    def stop(self) -> None:
        """Kills the process, waits for its end and closes its pipes."""
        self.kill()
        self.process.wait()
        for pipe in self.pipes:
            pipe.close()


class _Running:
    """The child processes that `finished` waits for, whether it may start others, and the time on the monotonic clock
    at which it ends those that run and starts no more.
    """

    children: ClassVar[set[Child]] = set()
    stopped = False
    until: float = math.inf


def stop_all() -> None:
    """Ends all processes that `finished` waits for in this process, and lets `finished` start none from now on."""
    _Running.stopped = True
    for child in tuple(_Running.children):
        child.kill()


def allow_starting() -> None:
    """Allows `finished` to start processes again, after `stop_all`."""
    _Running.stopped = False


@contextmanager
def deadline(moment: float) -> Iterator[None]:
    """Makes `finished`, inside a `with` block, end the process that it waits for at a time on the monotonic clock, and
    start none after that time.
    """
    before, _Running.until = _Running.until, moment
    try:
        yield
    finally:
        _Running.until = before


def is_late() -> bool:
    """Whether the time has come at which a `deadline` ends processes, so that one may have ended for that reason."""
    return time.monotonic() >= _Running.until


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


def finished(command: Sequence[str], seconds: float | None, variables: Mapping[str, str] | None = None) -> Finished:
    """Runs a command until it ends, or kills it after `seconds` if this is not None; returns its exit code and its
    output. `variables` are its environment, or None for that of `environment`.
    """
    if _Running.stopped or time.monotonic() >= _Running.until:
        return Finished(None, "", "")
    printed = Output()
    child = Child(command, environment() if variables is None else variables, printed)
    _Running.children.add(child)
    try:
        if _Running.stopped:  # by a signal during the start
            child.kill()
        code = child.wait(_at_most(seconds))
    finally:
        child.stop()
        _Running.children.discard(child)
    return Finished(code, printed.text(), child.errors.text())


def dying_with_parent(*command: str) -> tuple[str, ...]:
    """Returns the words of a command that ends when this process ends, for whatever reason, on Linux. `command` begins
    with a program, or with `-m` and a module for this interpreter.
    """
    return (*PYTHON, "-m", "autograd_conformance.processes.die_with_parent", str(os.getpid()), *command)


def environment() -> dict[str, str]:
    """Returns the environment variables of this process, with a PYTHONPATH by which another process finds the same
    modules.
    """
    return {**own_environment(), "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def own_environment() -> dict[str, str]:
    """Returns the user's environment variables, with which another interpreter finds its own packages."""
    own = os.environ.get(OWN, os.environ.get("PYTHONPATH", ""))
    return {**os.environ, OWN: own, "PYTHONPATH": own}


def with_folder() -> dict[str, str]:
    """Returns the variable PYTHONPATH with which another interpreter also finds modules of the current folder."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, (own_environment()["PYTHONPATH"], os.getcwd())))}
