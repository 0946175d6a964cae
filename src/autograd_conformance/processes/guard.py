"""The process that the user starts runs no framework: it watches another that does, and knows how that one ended.

A framework can end its process without a word and with the exit code of a good run. So whatever loads a framework is
a child, which says at its proper end what the result of the run is; a child that ends otherwise was ended. The child
has a process group of its own, and signals that stop this process are sent on to it. A child that does not react to
them in time is ended, and so is one that hangs. Where there is no `fork` as on Linux, nobody watches.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from autograd_conformance.processes.timeouts import stretched


def is_possible() -> bool:
    """Whether a process can be watched here."""
    return sys.platform == "linux" and threading.current_thread() is threading.main_thread()


LOADED, BEGUN, SIGNALLED, ENDED = b"L", b"B", b"H", b"E"
"""What the child says: the framework is loaded, the report is begun, a signal to stop was received, and, with the exit
code after it, that this is the end.
"""

POLL = 0.05
"""Seconds between two looks at the child."""

SILENT = 2
"""In how many looks a child may have closed its files that is about to end."""

LOOK = 1.0
"""Seconds between two looks at whether it hangs."""

UNSIGNALLED_LIMIT, SIGNALLED_LIMIT = 1.2, 6.0
"""Seconds after which a child that was to stop is ended: one that did not say that it received the signal, and one that
did.
"""

LATE = 3.0
"""Seconds after the end of a child in which signals that were sent to stop it are ignored here, too."""

_PDEATHSIG = 1
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Child:
    """Where a child speaks to its parent; nowhere in a process that nobody watches."""

    writing = -1


@dataclass(frozen=True, slots=True)
class ChildEnd:
    """How a child ended."""

    code: int | None
    """What the run came to, if the child said it: its exit code."""
    status: int
    """The exit code that the child left, or the signal that ended it with a minus sign."""
    loaded: bool
    """Whether the child had loaded the framework."""
    begun: bool
    """Whether it had begun a report."""
    stopped: bool
    """Whether the user stopped this process, and it the child."""
    closed: bool
    """Whether it closed its way to the parent, long before it ended."""


def notify_parent(word: bytes) -> None:
    """Tell the parent something, if there is one; the framework may have closed the way to it."""
    if is_watched():
        with suppress(OSError):
            os.write(_Child.writing, word)


def is_watched() -> bool:
    """Whether this process is a child that is watched."""
    return _Child.writing >= 0


def _not_stuck(said: bytes) -> bool:
    """A child that nobody says may hang."""
    return False


def die_with_parent(parent: int) -> None:
    """End this process when the one that started it, whose number is given, ends, however that ends; on Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before it could be watched
            os.kill(os.getpid(), signal.SIGKILL)


def run_watched(main: Callable[[], int], is_stuck: Callable[[bytes], bool] = _not_stuck) -> ChildEnd:
    """Call a function in a child, and wait for its end; the child itself never comes back from here. What the child
    said so far is given to `is_stuck` now and then, which says whether it is to be ended.
    """
    reading, writing = os.pipe()
    os.set_blocking(reading, False)  # a process that the framework leaves may hold the other end for ever
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    with warnings.catch_warnings(action="ignore"):  # NumPy's threads sleep, and know what to do
        child = os.fork()
    if not child:
        _Child.writing = writing
        _be_child(main, parent)
    os.close(writing)
    with _forwarding(child) as forwarded:
        status, said, closed = _awaited(child, reading, forwarded, is_stuck)
        if forwarded:  # processes that it started and did not wait for
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)
    os.close(reading)
    head, ended, code = said.partition(ENDED)
    how = os.waitstatus_to_exitcode(status)
    return ChildEnd(int(code) if ended else None, how, LOADED in head, BEGUN in head, bool(forwarded), closed)


def _awaited(
    child: int, reading: int, forwarded: list[float], is_stuck: Callable[[bytes], bool]
) -> tuple[int, bytes, bool]:
    """The status that a child left, what it said, and whether it closed the way; it is ended where it hangs, or does
    not stop when it is to.
    """
    said, looked, silent = b"", time.monotonic(), 0
    while True:
        select.select([], [], [], POLL)
        more = _read(reading)
        silent += more is None
        said += more or b""
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status, said + (_read(reading) or b""), silent > SILENT
        now = time.monotonic()
        if _ignores_signal(forwarded, said, now):
            os.kill(child, signal.SIGKILL)
        elif now - looked > LOOK:
            looked = now
            if not forwarded and is_stuck(said):
                os.kill(child, signal.SIGKILL)


def _ignores_signal(forwarded: list[float], said: bytes, now: float) -> bool:
    """Whether a child that was to stop has not done so for too long."""
    return bool(forwarded) and now - forwarded[0] > stretched(
        SIGNALLED_LIMIT if SIGNALLED in said else UNSIGNALLED_LIMIT
    )


def _read(reading: int) -> bytes | None:
    """What the child said since; None where it closed its end, or has just ended."""
    try:
        return os.read(reading, 1 << 16) or None
    except BlockingIOError:
        return b""


def _be_child(main: Callable[[], int], parent: int) -> None:
    """Call the function, say what its result is, and leave at once, whatever threads the framework leaves."""
    code = 3  # pytest's own for an internal error
    try:
        os.setpgid(0, 0)
        die_with_parent(parent)
        code = int(main())
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # the framework closed it
                stream.flush()
        notify_parent(ENDED + str(code).encode())
        os._exit(code)


@contextmanager
def _forwarding(child: int) -> Iterator[list[float]]:
    """Send what stops this process on to the child, which knows how to stop; gives the times at which that happened."""
    forwarded: list[float] = []

    def forward(number: int, frame: object) -> None:
        forwarded.append(time.monotonic())
        with suppress(ProcessLookupError):
            os.kill(child, number)

    def suspend(number: int, frame: object) -> None:
        os.killpg(child, signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.killpg(child, signal.SIGCONT)

    wanted = {**dict.fromkeys(_FORWARDED, forward), signal.SIGTSTP: suspend}
    before = {number: signal.getsignal(number) for number in wanted}
    changed = {number for number, old in before.items() if old not in (signal.SIG_IGN, None)}
    try:
        for number in changed:
            signal.signal(number, wanted[number])
        yield forwarded
    finally:
        later = _late(before) if forwarded else None
        for number in changed:
            signal.signal(number, later or before[number])


def _late(before: Mapping[Any, Any]) -> Callable[[int, object], None]:
    """A handler that ignores signals which come once more after what they were to stop has stopped, for a while."""
    until = time.monotonic() + LATE

    def handle(number: int, frame: object) -> None:
        if time.monotonic() > until:
            signal.signal(number, before[number])
            os.kill(os.getpid(), number)

    return handle
