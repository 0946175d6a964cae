"""Commands that end with the process that started them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from autograd_conformance.harness.child import environment, finished, own_environment
from autograd_conformance.harness.tied import tied
from tests.harness.test_cli import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it takes Linux")


def test_a_command_comes_to_its_end_in_the_environment_of_the_user(tmp_path: Path) -> None:
    command, *before = tied("/bin/sh")
    done = finished([*before, "-c", "echo $PYTHONPATH; exit 7"], 60, tmp_path, (command,))
    assert (done.code, done.printed.rstrip()) == (7, own_environment()["PYTHONPATH"])
    assert done.printed.rstrip() != environment()["PYTHONPATH"], "what this interpreter finds is none of its business"


@pytest.mark.slow
def test_a_command_is_killed_with_its_parent(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys; from autograd_conformance.harness.tied import tied;"
        "subprocess.run([*tied('/bin/sh'), '-c', 'echo $$ > told && mv told number && exec sleep 100'])"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    parent = subprocess.Popen([sys.executable, "-c", script], env=environment, cwd=tmp_path)
    try:
        assert within(60, (tmp_path / "number").exists)
        number = int((tmp_path / "number").read_text())
        assert is_alive(number)
    finally:
        parent.kill()
        parent.wait()
    assert within(30, lambda: not is_alive(number))


def is_alive(number: int) -> bool:
    """Whether a process runs, and is not merely one that nobody has asked for its end."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def within(seconds: float, until: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not (done := until()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return done
