"""Signals that end a run: SIGTERM and SIGHUP are treated like Ctrl-C, so that the report is written all the same.

A batch system or `timeout` may send the signal to every process of the run. Workers do not act on it: the controlling
process ends them, and none of them looks like a program that died.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

NAMES = ("SIGTERM", "SIGHUP")
"""The signals, where the system has them; one that is ignored from outside, as by `nohup`, stays ignored."""

AGAIN = 5.0
"""Seconds after which a signal that had no effect comes again."""

Handler = Callable[[int, FrameType | None], Any]


class Termination:
    """The handlers of this process for signals that end a run, until `restore`."""

    def __init__(self, controls: bool) -> None:
        """Handle the signals; `controls` where this process controls the run, and is no worker."""
        self.received: str | None = None
        """The name of the signal that ended the run."""
        self.again = False
        """Whether the next signal interrupts, too."""
        self.heard = threading.Event()
        """Set when the interruption has come through to whoever ends the run, or nobody waits for one."""
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
        pytest cannot tell of an interruption there. So it does where nobody hears of the interruption: an exception in
        a callback of the interpreter's own goes no further.
        """
        if frame is not None and frame.f_lineno is None:
            os.kill(os.getpid(), number)
        elif self.received is None or self.again:
            self.received, self.again = signal.Signals(number).name, False
            threading.Thread(target=self._repeat, args=(number,), daemon=True).start()
            keyboard = signal.getsignal(signal.SIGINT)
            if callable(keyboard):
                keyboard(signal.SIGINT, frame)
            else:
                raise KeyboardInterrupt

    def _repeat(self, number: int) -> None:
        """Send the signal again if the interruption is not heard of in time."""
        if not self.heard.wait(AGAIN):
            self.again = True
            os.kill(os.getpid(), number)

    def restore(self) -> None:
        """Put back what was there before."""
        self.heard.set()
        for number, handler in self.previous.items():
            signal.signal(number, handler)
        self.previous.clear()


def _stay(number: int, frame: FrameType | None) -> None:
    """A worker goes on."""
