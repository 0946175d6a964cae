"""How a process ended, with the last lines of its output, short enough to be quoted in a sentence."""

from __future__ import annotations

import signal

from autograd_conformance.processes.supervision import describe_exit

LINES = 3
"""Number of lines that are quoted. Abort messages of C++ and Rust have two or three: which error, and where."""

LONGEST = 200
"""Largest number of characters that are quoted of a line."""


def described_end(status: int | None, limit: float, *outputs: str) -> str:
    """Describes how a process ended that was stopped after `limit` seconds if its `status` is None. Quotes the last
    lines of the first of its outputs that has any if it exited or aborted, since they usually say why.
    """
    if status is None:
        return f"the process did not come back in {limit:.0f} s"
    says_why = status >= 0 or status == -signal.SIGABRT
    return f"{describe_exit(status)}{quoted(*outputs) if says_why else ''}"


def quoted(*outputs: str) -> str:
    """Returns the end of a sentence about a process, which quotes the last lines of the first of its outputs that has
    any; empty if it printed nothing.
    """
    words = next(filter(None, map(last_words, outputs)), "")
    return f"; its last output was: {words}" if words else ""


def last_words(output: str) -> str:
    """Returns the last lines of a process's output, joined by slashes; of a Python traceback, the line of the exception
    alone; empty if it printed nothing.
    """
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    shown = lines[-1:] if "Traceback (most recent call last)" in output else lines[-LINES:]
    return " / ".join(line if len(line) <= LONGEST else f"{line[:LONGEST]}…" for line in shown)
