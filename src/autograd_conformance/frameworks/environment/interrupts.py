"""Distinguishes an exception that a user's signal caused from one that a framework raised.

Ctrl-C must end the run, but a framework that raises `KeyboardInterrupt` or `SystemExit` is an observation. The
interpreter writes the number of each handled signal to a pipe. The pipe is read only if a framework raises such an
exception.
"""

from __future__ import annotations

import os
import signal

STOPPING = {number for name in ("SIGINT", "SIGTERM", "SIGHUP") if (number := getattr(signal, name, None))}
"""Signals that stop a run, if the system has them."""


class _Watch:
    """The pipe of this process; its ends are -1 before `watch` is called."""

    reading, writing = -1, -1


def watch() -> None:
    """Record signals from now on and forget those before. Without this call, every `KeyboardInterrupt` counts as the
    user's.
    """
    if _Watch.writing < 0:
        _Watch.reading, _Watch.writing = os.pipe()
        os.set_blocking(_Watch.reading, False)
        os.set_blocking(_Watch.writing, False)
    _recorded()
    try:
        signal.set_wakeup_fd(_Watch.writing, warn_on_full_buffer=False)
    except ValueError:  # not in the main thread, where signals arrive
        return


def is_users(error: BaseException) -> bool:
    """Whether a signal that stops a run, such as that of Ctrl-C, caused an exception that came from a call of the
    framework.
    """
    if isinstance(error, Exception):
        return False
    if _Watch.writing < 0 or not _is_watching():
        return isinstance(error, KeyboardInterrupt)
    return not STOPPING.isdisjoint(_recorded())


def _recorded() -> bytes:
    """Numbers of the signals that were recorded since the last call."""
    try:
        return os.read(_Watch.reading, 1 << 16)
    except BlockingIOError:
        return b""


def _is_watching() -> bool:
    """Whether signals are still recorded; a framework's event loop may have replaced the interpreter's only pipe."""
    try:
        before = signal.set_wakeup_fd(_Watch.writing, warn_on_full_buffer=False)
    except ValueError:
        return False
    return before == _Watch.writing
