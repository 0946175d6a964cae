"""A signal that ends a run interrupts it where pytest can tell of it."""

from __future__ import annotations

import signal
from types import SimpleNamespace
from typing import Any

import pytest

from autograd_conformance.harness.termination import Termination


def test_a_signal_between_two_lines_interrupts_at_the_next() -> None:
    termination: Any = Termination(controls=True)
    try:
        with pytest.raises(KeyboardInterrupt):
            for _ in range(2):  # the first time nothing is raised, the signal comes again
                termination._interrupt(signal.SIGTERM, SimpleNamespace(f_lineno=None))
    finally:
        termination.restore()
    assert termination.received == "SIGTERM"
