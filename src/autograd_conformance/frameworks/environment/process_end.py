"""The end of a framework's process, where that is another one than ours: what a program that it was running came to.

A process that ended is a bug that shrinks; one that does not come back is told as it was found, since each try takes as
long as a program may.
"""

from __future__ import annotations

import signal

from autograd_conformance.programs.language import Program


class Crashed(Exception):
    """The process ended while it ran a program."""

    def __init__(self, program: Program, how: str, status: int | None = None) -> None:
        super().__init__(how)
        self.program = program
        """The program that was running."""
        self.how = how
        """How the process ended, in words."""
        self.status = status
        """Its exit code, or with a minus sign the signal that ended it; None where nobody knows."""


class TimedOut(BaseException):
    """A program did not come back in time. No `Exception`: those are shrunk."""

    def __init__(self, program: Program, how: str) -> None:
        super().__init__(how)
        self.program = program
        """The program that was running."""
        self.how = how
        """How long it was waited for, in words."""


ENDED = (Crashed, TimedOut)


KILLS = frozenset(
    -getattr(signal, name) for name in ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT") if hasattr(signal, name)
)
"""How processes end that something outside of them killed; a framework may do so as well."""


def describe_exit(status: int) -> str:
    """How a process ended, in words: `status` is its exit code, or a signal with a minus sign."""
    if status >= 0:
        return f"the process ended itself with exit code {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    outside = ", by the framework or from outside, as where memory runs out" if -status == signal.SIGKILL else ""
    return f"the process died of {name}{outside}"
