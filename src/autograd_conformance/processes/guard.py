"""Runs the framework in a child of the process that the user starts, which watches the child and knows how it ended.

A framework may end its process at any time, even with exit code 0. So the child reports its result at its regular end,
and any other end is a crash. The child has its own process group, and this process forwards to it the signals that stop
the run. A child that hangs, or does not react to signals in time, is ended. Without Linux's `fork`, nothing is watched.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

from autograd_conformance.package.loading import STOPPING
from autograd_conformance.processes.signals import Handlers
from autograd_conformance.processes.supervision import POLL, Fork, kill_group, status_within
from autograd_conformance.processes.timeouts import scaled_timeout


def is_possible() -> bool:
    """Returns whether this process can start and watch a child: on Linux, in the main thread."""
    return sys.platform == "linux" and threading.current_thread() is threading.main_thread()


LOADED, BEGUN, SIGNALLED, CLOSED, ENDED = b"L", b"B", b"H", b"C", b"E"
"""Messages from the child to its parent: the framework is loaded, the report is begun, a signal to stop was received,
the framework closed files of the child, and the end, followed by the exit code.
"""

SILENT = 2
"""Largest number of checks in which the parent may find the pipe from the child closed before the child has ended;
after more, the framework counts as having closed the pipe.
"""

LOOK = 1.0
"""Seconds between two checks of whether the child hangs."""

UNSIGNALLED_LIMIT, SIGNALLED_LIMIT = 1.2, 6.0
"""Seconds after a signal to stop at which a child that still runs is killed: if it has not confirmed the signal, and if
it has."""

LATE = 3.0
"""Seconds after the end of a child to which a signal to stop was forwarded, in which this process ignores further such
signals."""

_PDEATHSIG = 1


class _Pipe:
    """The file descriptor to which this process, a watched child, writes messages for its parent; -1 in a process that
    is not watched.
    """

    writing = -1


@dataclass(frozen=True, slots=True)
class ChildEnd:
    """How a watched child, which runs the tests, ended."""

    code: int | None
    """Exit code of the run, if the child reported one."""
    status: int
    """Exit code of the process, or the negative number of the signal that ended it."""
    loaded: bool
    """Whether the child had loaded the framework."""
    begun: bool
    """Whether the child had begun to write the run's report, so that the parent can complete the report."""
    stopped: bool
    """Whether a signal stopped the run, which this process forwarded to the child."""
    closed: bool
    """Whether the child said that the framework closed files, or closed its pipe to the parent long before it ended."""


def notify_parent(word: bytes) -> None:
    """Sends a message to the parent process, if there is one and the framework has not closed the pipe."""
    if is_watched():
        with suppress(OSError):
            os.write(_Pipe.writing, word)


def is_watched() -> bool:
    """Returns whether this process is a child that `run_watched` started and watches."""
    return _Pipe.writing >= 0


def _not_stuck(messages: bytes) -> bool:
    """Decides that the child does not hang; the default check."""
    return False


def die_with_parent(parent: int) -> None:
    """Ends this process when the process that started it ends, for whatever reason. Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # the parent ended before this call
            os.kill(os.getpid(), signal.SIGKILL)


def run_watched(main: Callable[[], int], is_stuck: Callable[[bytes], bool] = _not_stuck) -> ChildEnd:
    """Calls a function in a child process, waits for the child's end, and returns how it ended. The child does not
    return from here. `is_stuck` gets the child's messages so far, and decides whether the child is ended.
    """
    reading, writing = os.pipe()
    os.set_blocking(reading, False)  # a process that the framework leaves running may keep the other end open
    sys.stdout.flush()
    sys.stderr.flush()
    child = Fork(partial(_be_child, main, os.getpid(), writing))
    os.close(writing)
    with _forwarding(child) as forwarded:
        status, messages, closed = _awaited(child, reading, forwarded, is_stuck)
        if forwarded:  # processes that the child started and did not wait for
            kill_group(child)
    os.close(reading)
    head, ended, code = messages.partition(ENDED)
    closed = CLOSED in head or (closed and not ended)
    return ChildEnd(int(code) if ended else None, status, LOADED in head, BEGUN in head, bool(forwarded), closed)


def _awaited(
    child: Fork, reading: int, forwarded: list[float], is_stuck: Callable[[bytes], bool]
) -> tuple[int, bytes, bool]:
    """Waits for a child. Returns its status, its messages, and whether it closed the pipe early. Ends a child that
    hangs or does not stop in time.
    """
    messages, looked, silent = b"", time.monotonic(), 0
    while True:
        status = status_within(child, POLL)
        more = _read(reading)
        silent += more is None
        messages += more or b""
        if status is not None:
            return status, messages + (_read(reading) or b""), silent > SILENT
        now = time.monotonic()
        if _ignores_signal(forwarded, messages, now):
            child.kill()
        elif now - looked > LOOK:
            looked = now
            if not forwarded and is_stuck(messages):
                child.kill()


def _ignores_signal(forwarded: list[float], messages: bytes, now: float) -> bool:
    """Returns whether a child has not stopped in time after a signal was forwarded to it."""
    return bool(forwarded) and now - forwarded[0] > scaled_timeout(
        SIGNALLED_LIMIT if SIGNALLED in messages else UNSIGNALLED_LIMIT
    )


def _read(reading: int) -> bytes | None:
    """Returns new messages from the child; None if the child closed its end of the pipe or has just ended."""
    try:
        return os.read(reading, 1 << 16) or None
    except BlockingIOError:
        return b""


def _be_child(main: Callable[[], int], parent: int, writing: int) -> NoReturn:
    """Calls the function in the child, sends its result to the parent through the pipe `writing`, and ends the process
    at once, even if the framework leaves threads running.
    """
    _Pipe.writing = writing
    code = 3  # pytest's exit code for an internal error
    try:
        os.setpgid(0, 0)
        die_with_parent(parent)
        code = int(main())
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # closed by the framework
                stream.flush()
        notify_parent(ENDED + str(code).encode())
        os._exit(code)


@contextmanager
def _forwarding(child: Fork) -> Iterator[list[float]]:
    """Forwards the signals that stop this process to the child, inside a `with` block. Yields a list of the times at
    which that happened.
    """
    forwarded: list[float] = []

    def forward(number: int, frame: object) -> None:
        forwarded.append(time.monotonic())
        with suppress(ProcessLookupError):
            os.kill(child.pid, number)

    def suspend(number: int, frame: object) -> None:
        os.killpg(child.pid, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.killpg(child.pid, signal.SIGCONT)

    handlers = Handlers()
    try:
        for number, handler in {**dict.fromkeys(STOPPING, forward), signal.SIGTSTP: suspend}.items():
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                handlers.install(number, handler)
        yield forwarded
    finally:
        if forwarded:
            handlers.restore_after(LATE)
        else:
            handlers.restore()
