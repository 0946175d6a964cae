"""A program that crashes PyTorch itself costs a run only the verdict of one test."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.formats.text import parse
from tests.frameworks.adapters.crashing import PROGRAM
from tests.plugin.test_cli import ONE, run, verdicts

ALONE = """
import torch
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = a.unsqueeze(0)
with torch.no_grad():
    a.mul_(2.0)
b.register_hook(lambda g: None)
"""
"""The program, as PyTorch code: <https://github.com/pytorch/pytorch/issues/196459>."""

CRASHING = "tests/frameworks/adapters/crashing.py::test_hook_on_a_view"


@pytest.fixture(scope="module", autouse=True)
def crashes():
    if subprocess.run([sys.executable, "-c", ALONE], stderr=subprocess.DEVNULL).returncode != -signal.SIGSEGV:
        pytest.skip("this PyTorch does not crash")


@pytest.mark.slow
def test_a_crash_of_the_framework_is_a_verdict_and_the_run_goes_on(tmp_path: Path):
    seen = run(tmp_path, CRASHING, ONE, "-n", "1", framework="tests.frameworks.adapters.few:Few")
    assert seen.code == 1
    assert verdicts(seen.report) == {CRASHING: "crash", ONE: "pass"}
    assert seen.failure.verdict == "crash"
    assert codec.from_json(seen.failure.program) == parse(PROGRAM, VOCABULARY)
    script = tmp_path / "script.py"
    script.write_text(seen.failure.script)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.returncode == -signal.SIGSEGV
    assert "register_hook" in done.stdout.splitlines()[-1]
    assert seen.report.footer is not None
    assert seen.report.footer.verdict == "complete"
