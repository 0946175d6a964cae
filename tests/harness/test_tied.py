"""Commands that end with the process that started them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
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
        "import subprocess; from autograd_conformance.harness.tied import tied;"
        "subprocess.run([*tied('/bin/sleep'), '100'])"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        deadline = time.monotonic() + 60
        found: list[psutil.Process] = []
        while not any(each.name() == "sleep" for each in found):
            assert time.monotonic() < deadline
            time.sleep(0.05)
            found = psutil.Process(parent.pid).children(recursive=True)
    finally:
        parent.kill()
        parent.wait()
    assert not psutil.wait_procs(found, timeout=30)[1]
