"""The audit of one version runs once; `--audit` runs it again."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from autograd_conformance.checking.limits import UNLIMITED, Limits
from autograd_conformance.package.places import ROOT
from autograd_conformance.plugin.stash import LIMITS
from autograd_conformance.plugin.state import SELECTED, _patience

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


@pytest.mark.parametrize(
    ("keyword", "args", "limits", "seconds"),
    [
        ("", ["suites"], UNLIMITED, None),
        ("tails", ["suites"], UNLIMITED, SELECTED),
        ("", ["suites/test_gradients.py::test_tails"], UNLIMITED, SELECTED),
        ("tails", ["suites"], Limits(programs=100), None),
        ("", ["suites"], Limits(deadline=1_100.0), 100.0),
    ],
)
def test_selected_tests_and_limited_runs_wait_for_an_audit_only_so_long(
    keyword: str, args: list[str], limits: Limits, seconds: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1_000.0)
    config = SimpleNamespace(option=SimpleNamespace(keyword=keyword), args=args, stash={LIMITS: limits})
    assert _patience(config, jobs=2) == seconds


@pytest.mark.slow
def test_what_batches_showed_is_kept_for_other_runs_with_batches(tmp_path: Path) -> None:
    (tmp_path / "counted.py").write_text(COUNTED.format(marker=tmp_path, seconds=0.15))
    first, second = _applied(tmp_path), _applied(tmp_path)
    assert second < first
