"""The engine's own tests, run on a copy of its package in a separate process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from evaluation.engines.child import PATIENCE, limit

OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:autograd_conformance", "-p", "no:randomly", "--tb=no")
"""Options of pytest: the first failure ends the run."""


@dataclass(frozen=True, slots=True)
class OwnTests:
    """The result of the engine's own tests for one mutant."""

    outcome: str
    """ "killed", "survived", or "killed: hang" if the limit of CPU seconds ended the tests."""
    test: str | None
    """The test that failed."""
    seconds: float
    """CPU seconds."""


def run(package: Path, tests: Path, files: Sequence[str], deselected: Sequence[str], seconds: int) -> OwnTests:
    """Runs test files, in the folder that has the engine's `tests`, with the engine imported from the folder
    `package`. A file may be the id of one test.
    """
    before = _spent()
    command = [sys.executable, "-m", "pytest", *OPTIONS, "--hypothesis-seed=0", *files]
    command += [f"--deselect={test}" for test in deselected]
    variables = {**os.environ, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        ended = subprocess.run(
            command, cwd=tests, env=variables, preexec_fn=partial(limit, seconds), capture_output=True, text=True,
            timeout=PATIENCE * seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return OwnTests("killed: hang", None, round(_spent() - before, 1))
    spent = round(_spent() - before, 1)
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", ended.stdout, re.MULTILINE)
    match ended.returncode:
        case 0:
            return OwnTests("survived", None, spent)
        case code if code < 0:
            return OwnTests("killed: hang" if spent >= seconds else "killed: crash", None, spent)
        case 1 | 2 | 4:
            return OwnTests("killed", failed[1] if failed else None, spent)
        case code:
            raise RuntimeError(f"pytest ended with {code}: {ended.stdout[-2000:]}{ended.stderr[-2000:]}")


def _spent() -> float:
    """CPU seconds of the child processes that have ended."""
    spent = os.times()
    return spent.children_user + spent.children_system
