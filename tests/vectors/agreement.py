"""A runner's own verdicts on vectors are those of the judge about its answers."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from autograd_conformance.reporting.analysis.verdicts import Exit
from autograd_conformance.reporting.records.stream import load
from autograd_conformance.vectors.command import main

WRONG = re.compile(r"^not ok ([0-9a-f]{12}) ", re.MULTILINE)


def agreement(folder: Path, runner: Sequence[str], each: int = 3) -> None:
    """Makes vectors for what a runner claims, runs them, and compares its verdicts with the judge's."""
    claims, vectors, answers, report = (folder / name for name in ("claims", "vectors", "answers", "report"))
    none = folder / "none.toml"
    none.write_text("")  # no known differences: a runner knows none
    claims.write_text(_run([*runner, "--claims"]))
    assert main([str(vectors), f"--claims={claims}", f"--each={each}"]) == Exit.PASSED
    wrong = WRONG.findall(_run([*runner, str(vectors), str(answers)]))
    code = main(["check", str(answers), f"--vectors={vectors}", f"--report={report}", f"--known={none}"])
    judged = {found for failure in load(report / "records.jsonl").failures for found in _ids(failure.test)}
    assert judged == {*wrong}
    assert code == (Exit.NOT_CONFORMANT if wrong else Exit.PASSED)


def _ids(test: str) -> list[str]:
    return re.findall(r"\[([0-9a-f]{12})\]", test)


def _run(words: Sequence[str]) -> str:
    ended = subprocess.run(words, capture_output=True, text=True, timeout=900, check=False)
    assert ended.returncode in (0, 1), ended.stderr
    return ended.stdout
