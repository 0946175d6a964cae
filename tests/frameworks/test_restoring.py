"""A change that a framework makes to its process ends with its call."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from tests.frameworks.adapters import misbehaving

PROGRAM = parse("a = leaf [1, 2]; b = exp a; backward b with [1, 1]", VOCABULARY)

CLOSING = """
import os
from autograd_conformance.frameworks.environment.restoring import restored
with restored():
    os.close(1)
os.write(1, b"open again")
"""


def test_the_current_folder_is_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    InProcess(misbehaving.ChangesFolder()).observe(PROGRAM)
    assert Path.cwd() == tmp_path


def test_the_treatment_of_floating_point_errors_is_restored() -> None:
    before = np.geterr()
    InProcess(misbehaving.RaisesFloatingPoint()).observe(PROGRAM)
    assert np.geterr() == before
    assert "raise" not in before.values()


def test_a_closed_standard_file_is_opened_again() -> None:
    done = subprocess.run([sys.executable, "-c", CLOSING], stdout=subprocess.PIPE, check=True, env=dict(os.environ))
    assert done.stdout == b"open again"
