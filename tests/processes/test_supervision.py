"""Processes that this one started: commands and forks are waited for, ended and described in one way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from autograd_conformance.processes.child import PYTHON
from autograd_conformance.processes.supervision import Fork, Started, describe_exit, kill_group, status_within
from tests.processes.test_die_with_parent import is_alive, within

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it takes Linux's fork")


def fork(seconds: float, code: int) -> Fork:
    """A copy of this process that ends itself after some seconds."""

    def main() -> NoReturn:
        time.sleep(seconds)
        os._exit(code)

    return Fork(main)


def command(seconds: float, code: int) -> subprocess.Popen[bytes]:
    """A command that ends itself after some seconds."""
    return subprocess.Popen([*PYTHON, "-c", f"import os, time; time.sleep({seconds}); os._exit({code})"])


@pytest.mark.parametrize("start", [fork, command])
def test_a_process_that_ends_itself_has_an_exit_code(start: Callable[[float, int], Started]) -> None:
    process = start(0, 5)
    assert status_within(process, 30) == status_within(process, None) == process.poll() == process.returncode == 5
    process.kill()  # it has ended
    assert process.returncode == 5


@pytest.mark.parametrize("start", [fork, command])
def test_a_process_that_does_not_end_is_waited_for_and_killed(start: Callable[[float, int], Started]) -> None:
    process, began = start(100, 0), time.monotonic()
    assert (status_within(process, 0.2), process.poll()) == (None, None)
    assert 0.2 <= time.monotonic() - began < 30
    process.kill()
    assert status_within(process, None) == -signal.SIGKILL


def test_the_group_of_a_process_is_killed_after_its_end(tmp_path: Path) -> None:
    number = tmp_path / "number"

    def leaves_another_running() -> NoReturn:
        os.setpgid(0, 0)
        number.write_text(str(subprocess.Popen(["sleep", "100"]).pid))
        os._exit(0)

    process = Fork(leaves_another_running)
    assert status_within(process, 30) == 0
    other = int(number.read_text())
    assert is_alive(other)
    kill_group(process)
    assert within(10, lambda: not is_alive(other))
    kill_group(process)  # it is empty


def test_an_end_is_described() -> None:
    killed = "the process died of SIGKILL, by the framework or from outside, as where memory runs out"
    described = {3: "the process ended itself with exit code 3", -6: "the process died of SIGABRT", -9: killed}
    assert {status: describe_exit(status) for status in described} == described
    assert describe_exit(-200) == "the process died of signal 200"
