"""Whether the user stops the run: an exception that a signal brought, told from one that a framework raises.

A framework may raise `KeyboardInterrupt` or `SystemExit` as it likes, which is an observation; Ctrl-C ends the run. The
interpreter writes the number of each signal that it handles into a pipe, whoever handles it; the pipe is looked at
only when such an exception comes out of a framework.
"""

from __future__ import annotations

import os
import signal

STOPPING = {number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None))}
"""The signals that stop a run, where the system has them."""


class _Watch:
    """The pipe of this process; none before `watch`."""

    reading, writing = -1, -1


def watch() -> None:
    """Note signals from now on; a process that does not takes every `KeyboardInterrupt` for the user's."""
    if _Watch.writing < 0:
        _Watch.reading, _Watch.writing = os.pipe()
        os.set_blocking(_Watch.reading, False)
        os.set_blocking(_Watch.writing, False)
    try:
        signal.set_wakeup_fd(_Watch.writing, warn_on_full_buffer=False)
    except ValueError:  # not in the main thread, where signals arrive
        return


def is_users(error: BaseException) -> bool:
    """Whether an exception that came out of a framework was brought by a signal, not raised by the framework."""
    if isinstance(error, Exception):
        return False
    if _Watch.writing < 0 or not _is_watching():
        return isinstance(error, KeyboardInterrupt)
    try:
        return not STOPPING.isdisjoint(os.read(_Watch.reading, 1 << 16))
    except BlockingIOError:
        return False


def _is_watching() -> bool:
    """Whether signals are noted still: an event loop of the framework's may have taken the interpreter's only place."""
    try:
        before = signal.set_wakeup_fd(_Watch.writing, warn_on_full_buffer=False)
    except ValueError:
        return False
    return before == _Watch.writing
