"""Workers that are forked from a process that has loaded the framework, in the place of processes started anew.

A worker of pytest-xdist spends seconds of a processor on loading what its controller has loaded already. So the
controller leaves a copy of itself, before it has opened anything; whoever starts a worker starts `harness.launch` in
the place of Python, which asks the copy for a fork. The copy forks only while it has one thread, and for this user
alone; else, and where it is gone, the worker is started anew.
"""

from __future__ import annotations

import gc
import os
import selectors
import shlex
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from autograd_conformance.harness import guard

TASKS = Path("/proc/self/task")
LAUNCH = Path(__file__).with_name("launch.py")

DEAF = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that are sent to a whole run: its controller ends it, and the copy with it."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A process that forks workers, as long as the one lives that left it."""

    number: int
    command: str
    """What is to be started in the place of Python."""

    def end(self) -> None:
        """End it, once nobody will ask for more; what it and its forks took is then counted as this process's."""
        os.kill(self.number, signal.SIGKILL)
        os.waitpid(self.number, 0)


class _Fork(NamedTuple):
    """A process that was forked, and whoever asked for it."""

    number: int
    process: int
    launcher: socket.socket


def alone() -> bool:
    """Whether this process can be forked, and has one thread: what another one holds, no fork could have."""
    return guard.is_possible() and hasattr(os, "pidfd_open") and len(list(TASKS.iterdir())) == 1


def left(ready: Callable[[], bool]) -> Copy | None:
    """Leave a copy of this process; it calls a function first, which says whether it may be forked."""
    if not alone():
        return None
    listening = socket.socket(socket.AF_UNIX)
    listening.bind("")  # to a name that the system finds, and that is in no folder
    listening.listen()
    name = listening.getsockname()
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    number = os.fork()
    if not number:
        _be_copy(listening, parent, ready)
    listening.close()
    return Copy(number, shlex.join((sys.executable, "-I", "-S", str(LAUNCH), name.hex())))


def _be_copy(listening: socket.socket, parent: int, ready: Callable[[], bool]) -> NoReturn:
    """Fork for whoever asks, until the parent ends; a fork comes back here, and leaves at its end."""
    code = 1
    try:
        guard.die_with_parent(parent)
        guard.speak_no_more()
        before = {number: signal.signal(number, signal.SIG_IGN) for number in DEAF}
        if ready():
            gc.collect()
            gc.freeze()  # what is looked at for garbage is copied
            streams = _forked(listening)
            for number, handler in before.items():
                signal.signal(number, handler)
            _be_python(streams)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)


def _forked(listening: socket.socket) -> list[int]:
    """Fork for each launcher, and tell it how the fork ended; only forks return, with their standard streams."""
    selector = selectors.DefaultSelector()
    selector.register(listening, selectors.EVENT_READ)
    while True:
        key, _ = selector.select()[0]  # one at a time: what it comes to may be the end of another
        fork: _Fork | None = key.data
        if fork is None:
            launcher, _ = listening.accept()
            streams = _streams(launcher)
            number = os.fork() if streams else -1
            if not number:
                _close(launcher, *(each.fileobj for each in selector.get_map().values()), selector)
                return streams
            _close(*streams)
            if number < 0:
                launcher.close()
                continue
            fork = _Fork(number, os.pidfd_open(number), launcher)
            selector.register(fork.process, selectors.EVENT_READ, fork)
            selector.register(launcher, selectors.EVENT_READ, fork)
            _say(launcher, b"!")
        elif key.fileobj is fork.launcher:  # it was ended
            selector.unregister(fork.launcher)
            os.kill(fork.number, signal.SIGKILL)
        else:
            with suppress(KeyError):
                selector.unregister(fork.launcher)
            selector.unregister(fork.process)
            status = os.waitstatus_to_exitcode(os.waitpid(fork.number, 0)[1])
            _say(fork.launcher, str(status).encode())
            _close(fork.process, fork.launcher)


def _streams(launcher: socket.socket) -> list[int]:
    """The streams that a fork is to have; none where there is to be no fork."""
    _, user, _ = struct.unpack("3i", launcher.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    if user != os.getuid() or not alone():
        return []
    try:
        return socket.recv_fds(launcher, 1, 3)[1]
    except OSError:
        return []


def _say(launcher: socket.socket, what: bytes) -> None:
    with suppress(OSError):  # it was ended
        launcher.send(what)


def _close(*files: Any) -> None:
    for file in files:
        if isinstance(file, int):
            os.close(file)
        else:
            file.close()


def _be_python(streams: list[int]) -> None:
    """Do what Python does that is started with the line of execnet's: run what comes in as a literal of its source."""
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        os.close(stream)
    sys.argv = ["-c"]
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - they are open as long as the process lives
    sys.stdout, sys.stderr = open(1, "w", 1, closefd=False), open(2, "w", 1, closefd=False)  # noqa: SIM115
    source = eval(sys.stdin.readline(), {})  # its parent's, whose pipe this is
    exec(source, {"__name__": "__main__"})
