"""Waits for processes that this process started, ends them, and describes how they ended.

This serves both kinds of process: commands, which `child` starts, and copies of this process, which `guard` starts.
pytest-xdist starts and ends its own workers, because it exchanges messages with them and replaces those that crash.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

POLL = 0.05
"""Seconds between two checks of whether a copy of this process still runs."""

KILLS = frozenset(
    -getattr(signal, name) for name in ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT") if hasattr(signal, name)
)
"""Exit statuses (negative numbers of signals) of a process that another process may have killed; a framework may also
end in this way.
"""


class Fork:
    """A copy of this process that calls a function and does not return from there. Its attributes and methods do what
    those of `subprocess.Popen` do.
    """

    def __init__(self, main: Callable[[], NoReturn]) -> None:
        with warnings.catch_warnings(action="ignore"):  # NumPy's threads are idle, and handle a fork
            self.pid = os.fork()
        if not self.pid:
            main()
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Returns the exit code, or the negative number of the signal that ended the process; None if it runs."""
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if ended else None
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Waits for the end of the process and returns the same as `poll`. Raises `subprocess.TimeoutExpired` after
        `timeout` seconds, if this is not None.
        """
        until = math.inf if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            left = until - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired("a copy of this process", timeout or 0.0)
            time.sleep(min(left, POLL))
        return status

    def kill(self) -> None:
        """Kills the process, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


Started = subprocess.Popen[bytes] | Fork
"""A process that this process started."""


def status_within(process: Started, seconds: float | None) -> int | None:
    """Returns the exit code of a process, or the negative number of a signal that ended it; None if it does not end
    within these seconds.
    """
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None


def kill_group(process: Started) -> None:
    """Kills all processes of the process group that a process leads, also if that process has ended."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def describe_exit(status: int) -> str:
    """Describes how a process ended: `status` is its exit code, or the negative number of a signal."""
    if status >= 0:
        return f"the process ended itself with exit code {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    outside = ", by the framework or from outside, as where memory runs out" if -status == signal.SIGKILL else ""
    return f"the process died of {name}{outside}"
