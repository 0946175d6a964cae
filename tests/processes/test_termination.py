"""A signal that ends a run interrupts it where pytest can report the interruption."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autograd_conformance.processes.termination import Termination


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


def test_an_interruption_that_nobody_hears_of_comes_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("autograd_conformance.processes.termination.AGAIN", 0.5)
    termination = Termination(controls=True)

    def lost() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)

    try:
        with pytest.raises(KeyboardInterrupt):
            lost()  # as in a callback of the garbage collector
        with pytest.raises(KeyboardInterrupt):
            time.sleep(10)
        termination.acknowledged.set()
        time.sleep(0.8)
    finally:
        termination.restore()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent has ended")
def test_a_shard_whose_worker_is_gone_before_it_begins_does_not_begin() -> None:
    """Otherwise the shard would run twice: here, and in the worker that replaces this one."""
    ends = []
    for worker in (os.getpid(), os.getpid() + 1):
        words = [str(worker), "-m", "autograd_conformance.cli", "--version"]
        command = [sys.executable, "-m", "autograd_conformance.processes.die_with_parent", *words]
        ends.append(subprocess.run(command, capture_output=True).returncode)
    assert ends == [0, -signal.SIGKILL]


CONFTEST = """
from autograd_conformance.processes.termination import Termination

def pytest_configure(config):
    global ending
    ending = Termination(controls=True)
    ending.over = "the time was over"

def pytest_keyboard_interrupt(excinfo):
    ending.acknowledge()  # else the signal comes again while pytest ends

def pytest_unconfigure(config):
    ending.restore()
"""


def test_pytest_prints_the_reason_of_an_interruption_alone(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_one.py").write_text(
        "import os, signal\n\ndef test_one():\n    os.kill(os.getpid(), signal.SIGTERM)\n"
    )
    words = [sys.executable, "-m", "pytest", "-p", "no:autograd_conformance", "-p", "no:xdist", "."]
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 2
    assert "! RunEnded: the time was over !" in ended.stdout
    assert "full-trace" not in ended.stdout
