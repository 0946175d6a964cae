"""Signals that end a run: SIGTERM and SIGHUP are treated like Ctrl-C, so that the report is written all the same.

A batch system or `timeout` may send the signal to every process of the run. Workers do not act on it: the controlling
process ends them, and none of them looks like a program that died.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

NAMES = ("SIGTERM", "SIGHUP")
"""The signals, where the system has them; one that is ignored from outside, as by `nohup`, stays ignored."""

Handler = Callable[[int, FrameType | None], Any]


class Termination:
    """The handlers of this process for signals that end a run, until `restore`."""

    def __init__(self, controls: bool) -> None:
        """Handle the signals; `controls` where this process controls the run, and is no worker."""
        self.received: str | None = None
        """The name of the signal that ended the run."""
        self.previous: dict[int, Any] = {}
        for name in NAMES:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) == signal.SIG_DFL:
                self._install(number, self._interrupt if controls else _stay)

    def _install(self, number: int, handler: Handler) -> None:
        try:
            self.previous[number] = signal.signal(number, handler)
        except ValueError:  # not in the main thread, where alone signals are handled
            return

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """The first signal interrupts; the second is often the same one, sent to the group, and must not disturb.

        Where the compiled code has no line of its own, as at a function's end, the signal comes again a moment later:
        pytest cannot tell of an interruption there.
        """
        if frame is not None and frame.f_lineno is None:
            os.kill(os.getpid(), number)
        elif self.received is None:
            self.received = signal.Signals(number).name
            keyboard = signal.getsignal(signal.SIGINT)
            if callable(keyboard):
                keyboard(signal.SIGINT, frame)
            else:
                raise KeyboardInterrupt

    def restore(self) -> None:
        """Put back what was there before."""
        for number, handler in self.previous.items():
            signal.signal(number, handler)
        self.previous.clear()


def _stay(number: int, frame: FrameType | None) -> None:
    """A worker goes on."""
