"""Runs a function in a forked process with limits of time and memory."""

from __future__ import annotations

import multiprocessing
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

MEMORY = 12 << 30
"""Most bytes of data of a process: a mutated loop may fill the machine's memory."""

PATIENCE = 8
"""A process that waits, rather than computes, ends after this many times its CPU seconds."""


class Ended(Exception):
    """The process ended without a result; the message says how, "hang" or "crash"."""


class Late(BaseException):
    """A block of code took too long; it is no `Exception`, so that fewer places catch it."""


@contextmanager
def stopped_after(seconds: float) -> Iterator[None]:
    """Raises `Late` in the block each time that some seconds have gone by: who runs a framework may catch it."""

    def stop(*_: object) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def limit(seconds: int) -> None:
    """Ends this process after some CPU seconds, or if it needs too much memory; it leaves no core file."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 10))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def forked(work: Callable[[], Any], seconds: int) -> Any:
    """Returns the result of a function that runs in a forked process. Raises `Ended` if the process ends first."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(work, theirs, seconds))
    process.start()
    theirs.close()
    try:
        if not ours.poll(PATIENCE * seconds):
            raise Ended("hang")
        return ours.recv()
    except EOFError:
        process.join()
        raise Ended("hang" if process.exitcode in (-signal.SIGXCPU, -signal.SIGKILL) else "crash") from None
    finally:
        process.kill()
        process.join()
        ours.close()


def _run(work: Callable[[], Any], out: Connection, seconds: int) -> None:
    limit(seconds)
    out.send(work())
    out.close()
    sys.stdout.flush()
