"""Commands, and the processes of an audit and of a confirmation, end with the process that started them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from autograd_conformance.processes.child import dying_with_parent, environment, finished, own_environment
from tests.plugin.test_cli import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it takes Linux")


def test_a_command_comes_to_its_end_in_the_environment_of_the_user() -> None:
    done = finished(dying_with_parent("/bin/sh", "-c", "echo $PYTHONPATH; exit 7"), 60)
    assert (done.code, done.printed.rstrip()) == (7, own_environment()["PYTHONPATH"])
    assert done.printed.rstrip() != environment()["PYTHONPATH"], "what this interpreter finds is none of its business"


@pytest.mark.slow
def test_a_command_is_killed_with_its_parent(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys; from autograd_conformance.processes.child import dying_with_parent;"
        "subprocess.run([*dying_with_parent('/bin/sh'), '-c', 'echo $$ > told && mv told number && exec sleep 100'])"
    )
    assert dies_with_its_parent(script, tmp_path)


STUCK = """
import os, time
from examples.tiny_adapter import Tiny

class Stuck(Tiny):
    name = "stuck"

    def apply(self, op, operands, attrs):
        with open("told", "w") as file:
            file.write(str(os.getpid()))
        os.replace("told", "number")
        time.sleep(1e6)
"""


@pytest.mark.slow
def test_an_audit_is_killed_with_its_run(tmp_path: Path) -> None:
    (tmp_path / "stuck.py").write_text(STUCK)
    script = (
        "from autograd_conformance.checking.audit.workers import audit;"
        "audit('stuck:Stuck', 'cpu', ('float64',), 600.0, False)"
    )
    assert dies_with_its_parent(script, tmp_path)


@pytest.mark.slow
def test_a_fresh_process_is_killed_with_its_run(tmp_path: Path) -> None:
    (tmp_path / "stuck.py").write_text(STUCK)
    script = (
        "from autograd_conformance.failures.confirmation.fresh_process import Request, run_in_subprocess;"
        "from autograd_conformance.ops.catalogue import VOCABULARY;"
        "from autograd_conformance.programs.formats import codec;"
        "from autograd_conformance.programs.formats.text import parse;"
        "program = codec.to_json(parse('a = leaf 1; b = exp a', VOCABULARY));"
        "run_in_subprocess(Request('stuck:Stuck', 'cpu', False, 600.0, (), program, 1))"
    )
    assert dies_with_its_parent(script, tmp_path)


def dies_with_its_parent(script: str, folder: Path) -> bool:
    """Whether a process that a script starts ends when the script is killed. The process writes its number to
    a file.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(folder)))}
    parent = subprocess.Popen([sys.executable, "-c", script], env=environment, cwd=folder)
    try:
        assert within(120, (folder / "number").exists)
        number = int((folder / "number").read_text())
        assert is_alive(number)
    finally:
        parent.kill()
        parent.wait()
    return within(30, lambda: not is_alive(number))


def is_alive(number: int) -> bool:
    """Whether a process runs. A zombie, which has ended and was not waited for, does not."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def within(seconds: float, until: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while not (done := until()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return done
