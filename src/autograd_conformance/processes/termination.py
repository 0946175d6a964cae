"""Handles the signals that end a run: SIGINT, SIGTERM and SIGHUP interrupt it, and the report is still written.

The first signal interrupts the process and ends the processes that it waits for. Later signals are only recorded, so
that they do not disturb the end of the run: a batch system or `timeout` may send a signal to every process of the run.
Workers ignore the signals. The controlling process ends the workers, which do not count as crashed.
"""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType, TracebackType

from autograd_conformance.package.loading import STOPPING, USUAL, end_at_once
from autograd_conformance.processes import child, guard
from autograd_conformance.processes.signals import Handlers
from autograd_conformance.processes.timeouts import scaled_timeout

REPLACED = (*USUAL, end_at_once)
"""The handlers that a run replaces; any other handler is left in place, and a signal that is ignored from outside, as
by `nohup`, stays ignored.
"""

AGAIN = 1.0
"""Seconds after which the signal that ends the run is sent again if no code has received the interruption."""


class RunEnded(KeyboardInterrupt):
    """A signal or the time limit has ended the run. Pytest prints the reason, and not where the run was."""

    __module__ = "builtins"  # so that pytest prints the class without its module


class Termination:
    """Installs signal handlers that interrupt the run in this process, until `restore`."""

    def __init__(self, controls: bool, keyboard: bool = True) -> None:
        """Installs the handlers. `controls`: this process controls the run, and is not a worker, which ignores signals.
        Without `keyboard`, SIGINT is left to a debugger.
        """
        self.received: str | None = None
        """Name of the signal that ended the run, such as "SIGTERM"; None without one."""
        self.over: str | None = None
        """Why the run ended although no signal came from outside: its time limit; None otherwise."""
        self.interrupted = False
        """Whether a signal or the time limit has interrupted the run."""
        self.again = False
        """Whether the next signal interrupts the run again, because nothing received the first interruption."""
        self.acknowledged = threading.Event()
        """Set when the code that ends the run has received the interruption, or the run ends anyway."""
        self.handlers = Handlers()
        for number in STOPPING if controls and keyboard else STOPPING[1:]:
            if signal.getsignal(number) in REPLACED:
                self.handlers.install(number, self._interrupt if controls else _ignore)

    def acknowledge(self) -> None:
        """Records that the run is ending; from now on signals change nothing."""
        self.acknowledged.set()
        if self.received:
            guard.notify_parent(guard.SIGNALLED)

    def end_after(self, seconds: float, reason: str) -> None:
        """Interrupts the run after this many seconds, as a signal does; `reason` is for the report."""

        def end(number: int) -> None:
            if not self.acknowledged.wait(seconds):
                self.over = reason
                os.kill(os.getpid(), number)

        for number in list(self.handlers.previous)[:1]:
            threading.Thread(target=end, args=(number,), daemon=True).start()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """Interrupts the run at the first signal, and ignores the second, which is often the same one sent to the
        process group.

        The signal is sent again shortly after if the current code has no line number, as at a function's end, because
        pytest cannot report an interruption there. It is also sent again if nothing receives the interruption: an
        exception in a callback of the interpreter is lost.
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
            raise RunEnded(self.over or f"by {self.received}")

    def _repeat(self, number: int) -> None:
        """Sends the signal again if no code that ends the run receives the interruption in time."""
        if not self.acknowledged.wait(scaled_timeout(AGAIN)):
            self.again = True
            os.kill(os.getpid(), number)

    def restore(self) -> None:
        """Restores the signal handlers from before. A watched process that was stopped keeps ignoring signals until it
        ends.
        """
        self.acknowledged.set()
        if self.received and guard.is_watched():
            return
        self.handlers.restore()
        child.allow_starting()


def with_lines(traceback: TracebackType | None) -> TracebackType | None:
    """Returns a traceback in which every entry has a line number. A signal may arrive in code without one, and pytest
    fails to print such an entry.
    """
    if traceback is None:
        return None
    line = traceback.tb_lineno
    if line is None:
        line = traceback.tb_frame.f_code.co_firstlineno
    return TracebackType(with_lines(traceback.tb_next), traceback.tb_frame, traceback.tb_lasti, line)


def _ignore(number: int, frame: FrameType | None) -> None:
    """Does nothing: the signal handler of workers."""
