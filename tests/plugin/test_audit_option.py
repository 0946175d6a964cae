"""The audit of one version runs once; `--audit` runs it again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from autograd_conformance.package.places import ROOT

COUNTED = '''
import time
from pathlib import Path
from examples.tiny_adapter import Tiny

class Counted(Tiny):
    """The example, which notes each op that it applies."""

    name = "counted"
    marker = "{marker}"

    def apply(self, op, args, attrs):
        with Path("applied.txt").open("a") as file:
            file.write(op + chr(10))
        time.sleep({seconds})
        return super().apply(op, args, attrs)
'''


def _applied(folder: Path, *options: str) -> int:
    """Returns the number of ops that the framework applied in a run of one test."""
    (folder / "applied.txt").write_text("")
    command = [sys.executable, "-m", "autograd_conformance.cli", "--framework=counted:Counted", "-n", "0"]
    command += ["--hypothesis-seed=1", "-k", "test_op[sin]", *options]
    found = {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT)))}
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300, env=found)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return len((folder / "applied.txt").read_text().splitlines())


def test_the_audit_is_kept_until_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "counted.py").write_text(
        COUNTED.format(marker=tmp_path, seconds=0)
    )  # no other state of the adapter is kept
    first, second, third = _applied(tmp_path), _applied(tmp_path), _applied(tmp_path, "--audit")
    assert second < first
    assert third == first


@pytest.mark.slow
def test_what_batches_showed_is_kept_for_other_runs_with_batches(tmp_path: Path) -> None:
    (tmp_path / "counted.py").write_text(COUNTED.format(marker=tmp_path, seconds=0.15))
    first, second = _applied(tmp_path), _applied(tmp_path)
    assert second < first
