"""Signals that end a run: SIGINT, SIGTERM and SIGHUP interrupt it, and the report is written all the same.

The first one interrupts whatever the process is doing, and ends the processes that it waits for. What comes later must
not disturb the end of the run: it is only noted. A batch system or `timeout` may send the signal to every process of
the run. Workers do not act on it: the controlling process ends them, and none of them looks like a program that died.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

from autograd_conformance.processes import child, guard
from autograd_conformance.processes.timeouts import stretched

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
"""The signals, where the system has them; one that is ignored from outside, as by `nohup`, stays ignored."""

USUAL = (signal.SIG_DFL, signal.default_int_handler)
"""What handles them where nobody else does."""

AGAIN = 1.0
"""Seconds after which a signal that had no effect comes again."""

Handler = Callable[[int, FrameType | None], Any]


class Termination:
    """The handlers of this process for signals that end a run, until `restore`."""

    def __init__(self, controls: bool, keyboard: bool = True) -> None:
        """Handle the signals; `controls` where this process controls the run, and is no worker; that of the `keyboard`
        is left alone where a debugger may be on.
        """
        self.received: str | None = None
        """The name of the signal that ended the run."""
        self.over: str | None = None
        """Why the run ended, where no signal did: its time was over."""
        self.interrupted = False
        """Whether the run was interrupted already."""
        self.again = False
        """Whether the next signal interrupts, too."""
        self.acknowledged = threading.Event()
        """Set when the interruption was received by what ends the run, or the run ends anyway."""
        self.previous: dict[int, Any] = {}
        for name in NAMES if controls and keyboard else NAMES[1:]:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) in USUAL:
                self._install(number, self._interrupt if controls else _ignore)

    def _install(self, number: int, handler: Handler) -> None:
        try:
            self.previous[number] = signal.signal(number, handler)
        except ValueError:  # not in the main thread, where alone signals are handled
            return

    def acknowledge(self) -> None:
        """From now on the run ends, and signals change nothing."""
        self.acknowledged.set()
        if self.received:
            guard.notify_parent(guard.SIGNALLED)

    def end_after(self, seconds: float, reason: str) -> None:
        """Interrupt the run in so many seconds, as a signal does."""

        def end(number: int) -> None:
            if not self.acknowledged.wait(seconds):
                self.over = reason
                os.kill(os.getpid(), number)

        for number in list(self.previous)[:1]:
            threading.Thread(target=end, args=(number,), daemon=True).start()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """The first signal interrupts; the second is often the same one, sent to the group, and must not disturb.

        Where the compiled code has no line of its own, as at a function's end, the signal comes again a moment later:
        pytest cannot report an interruption there. It comes again, too, where nobody receives the interruption: an
        exception in a callback of the interpreter's own goes no further.
        """
        if frame is not None and frame.f_lineno is None:
            os.kill(os.getpid(), number)
            return
        first, self.interrupted = not self.interrupted, True
        if not (first and self.over):
            self.received = self.received or signal.Signals(number).name
        child.stop_all()
        if self.acknowledged.is_set():
            self.acknowledge()
        elif first or self.again:
            self.again = False
            threading.Thread(target=self._repeat, args=(number,), daemon=True).start()
            raise KeyboardInterrupt

    def _repeat(self, number: int) -> None:
        """Send the signal again if the interruption is not received in time."""
        if not self.acknowledged.wait(stretched(AGAIN)):
            self.again = True
            os.kill(os.getpid(), number)

    def restore(self) -> None:
        """Put back what was there before; a process that was stopped and ends now stays deaf to more signals."""
        self.acknowledged.set()
        if self.received and guard.is_watched():
            return
        for number, handler in self.previous.items():
            signal.signal(number, handler)
        self.previous.clear()
        child.allow_starting()


def with_lines(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback in which every entry has a line: a signal may arrive where the compiled code has none, and pytest
    fails there when it says where that was.
    """
    if traceback is None:
        return None
    line = traceback.tb_lineno
    if line is None:
        line = traceback.tb_frame.f_code.co_firstlineno
    return TracebackType(with_lines(traceback.tb_next), traceback.tb_frame, traceback.tb_lasti, line)


def _ignore(number: int, frame: FrameType | None) -> None:
    """A worker goes on."""
