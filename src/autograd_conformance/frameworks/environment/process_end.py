"""Crashes and timeouts of a framework's process, each with the program that was running.

A crash is shrunk like other failures. A timeout is reported as it occurred, because each attempt would take as long as
a program may.
"""

from __future__ import annotations

from autograd_conformance.programs.language import Program


class Crashed(Exception):
    """The framework's process ended during a program."""

    def __init__(self, program: Program, how: str, status: int | None = None) -> None:
        super().__init__(how)
        self.program = program
        """The program that was running."""
        self.how = how
        """Description of how the process ended."""
        self.status = status
        """The exit code, or the negative number of the signal that ended the process; None if unknown."""


class TimedOut(BaseException):
    """Raised if a program did not finish in time. This is not an `Exception`, so that Hypothesis does not shrink the
    program, which would take long.
    """

    def __init__(self, program: Program, how: str) -> None:
        super().__init__(how)
        self.program = program
        """The program that was running."""
        self.how = how
        """Description of the timeout."""


ENDED = (Crashed, TimedOut)
