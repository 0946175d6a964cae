"""The process that the user starts runs no framework: it watches another that does, and knows how that one ended.

A framework can end its process without a word and with the exit code of a good run. So whatever loads a framework is
a child, which says at its proper end what the run came to; a child that ends otherwise was ended. The child has a
process group of its own, and what stops this process stops it, once. Where there is no `fork` as on Linux, nobody
watches.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass


def is_possible() -> bool:
    """Whether a process can be watched here."""
    return sys.platform == "linux" and threading.current_thread() is threading.main_thread()


LOADED, ENDED = b"L", b"E"
"""What the child says: the framework is loaded, and, with the exit code behind it, that this is the end."""

_PDEATHSIG = 1
_FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Child:
    """Where a child speaks to its parent; nowhere in a process that nobody watches."""

    writing = -1


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child ended."""

    code: int | None
    """What the run came to, if the child said it: its exit code."""
    status: int
    """The exit code that the child left, or the signal that ended it with a minus sign."""
    loaded: bool
    """Whether the child had loaded the framework."""
    stopped: bool
    """Whether the user stopped this process, and it the child."""


def say_loaded() -> None:
    """Tell the parent, if there is one, that the framework is loaded."""
    if _Child.writing >= 0:
        os.write(_Child.writing, LOADED)


def die_with_parent(parent: int) -> None:
    """End this process when the one that started it, whose number is given, ends, however that ends; on Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before it could be watched
            os.kill(os.getpid(), signal.SIGKILL)


def watched(main: Callable[[], int]) -> Ended:
    """Call a function in a child, and wait for its end; the child itself never comes back from here."""
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
        _, status = os.waitpid(child, 0)
    try:
        said = os.read(reading, 1 << 16)
    except BlockingIOError:
        said = b""
    os.close(reading)
    head, ended, code = said.partition(ENDED)
    return Ended(int(code) if ended else None, os.waitstatus_to_exitcode(status), LOADED in head, bool(forwarded))


def _be_child(main: Callable[[], int], parent: int) -> None:
    """Call the function, say what it came to, and leave at once, whatever threads the framework leaves."""
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
        os.write(_Child.writing, ENDED + str(code).encode())
        os._exit(code)


@contextmanager
def _forwarding(child: int) -> Iterator[list[int]]:
    """Hand on what stops this process to the child, which knows how to stop; gives the signals that were handed on."""
    forwarded: list[int] = []

    def forward(number: int, frame: object) -> None:
        forwarded.append(number)
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
        for number in changed:
            signal.signal(number, before[number])
