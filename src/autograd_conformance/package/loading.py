"""Signals while a run is being loaded: they end the process with one line, for there is nothing to report."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

STOPPING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that end a run, if the system has them."""

USUAL = (signal.SIG_DFL, signal.default_int_handler)
"""The handlers of a process that has installed none."""

INTERRUPTED = 2
"""The exit code of a run that a signal ended; `reporting.analysis.verdicts.Exit` explains all codes."""


def end_at_once(number: int, frame: FrameType | None) -> None:
    """Ends the process with one line and exit code 2: the signal handler of a run that is still being loaded."""
    print(f"INTERRUPTED: ended by {signal.Signals(number).name}; there is no report", file=sys.stderr, flush=True)
    os._exit(INTERRUPTED)


def handle_signals() -> None:
    """Lets signals end this process with one line, until the run installs handlers that write a report. Signals that
    are ignored, or handled by somebody else, stay so.
    """
    for number in STOPPING:
        if signal.getsignal(number) in USUAL:
            try:
                signal.signal(number, end_at_once)
            except ValueError:  # not the main thread
                return


def stop_handling_signals() -> None:
    """Restores Python's own handlers where `handle_signals` replaced them: for tests that are not a run of the suite,
    which pytest ends with its own summary.
    """
    for number in STOPPING:
        if signal.getsignal(number) is end_at_once:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
