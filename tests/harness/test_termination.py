"""A signal that ends a run interrupts it where pytest can tell of it."""

from __future__ import annotations

import signal
from types import SimpleNamespace
from typing import Any

import pytest

from autograd_conformance.harness.termination import Termination


def test_a_signal_between_two_lines_interrupts_at_the_next() -> None:
    termination: Any = Termination(controls=True)

    def interrupt() -> None:
        termination._interrupt(signal.SIGTERM, SimpleNamespace(f_lineno=None))
        list(range(2))  # the signal comes again here

    try:
        with pytest.raises(KeyboardInterrupt):
            interrupt()
    finally:
        termination.restore()
    assert termination.received == "SIGTERM"
