"""A whole run of a framework with three faults: three causes on three screens, the worst first, and no failure is
missing.
"""

from __future__ import annotations

import re

import pytest

from autograd_conformance.reporting.analysis.causes import causes
from tests.plugin.test_cli import run

pytestmark = pytest.mark.slow

FAULTY = "tests.frameworks.adapters.faulty:Faulty"
SCREEN = 50
"""Lines of a screen."""


def unfolded(page: str) -> list[str]:
    """The lines of a page that are visible before anything is unfolded, without empty ones."""
    seen, depth = [], 0
    for line in page.splitlines():
        depth += line.startswith("<details>")
        if line.strip() and (not depth or (depth == 1 and line.startswith("<summary>"))):
            seen.append(line)
        depth -= line.startswith("</details>")
    assert depth == 0
    return seen


def test_three_faults_are_three_causes_on_three_screens(tmp_path):
    seen = run(tmp_path, "-n", "1", "--hypothesis-seed=1", framework=FAULTY)
    assert seen.code == 1
    report = seen.report
    assert len(report.failures) > 40, "each of the faults shows in many tests"

    found = causes(report)
    assert [(cause.severity, cause.op, cause.shown.rule) for cause in found] == [
        ("value", "tanh", "gradients/op"),
        ("value", "add", "accumulation/own-object"),
        ("lost error", None, "lifetime/same-root-raises"),
    ]
    assert sum(len(cause.failures) for cause in found) == len(report.failures)

    terminal = seen.output[seen.output.index(f"{len(report.failures)} failures with 3 causes, the worst first.") :]
    assert len(terminal.splitlines()) <= 3 * SCREEN
    assert re.findall(r"^--- (\d\. .*?) -+$", terminal, re.MULTILINE) == [
        "1. silently wrong, 0 of 16 digits right: op tanh breaks gradients/op",
        "2. silently wrong: op add breaks accumulation/own-object",
        "3. error not raised: lifetime/same-root-raises",
    ]
    assert "= FAILURES =" not in seen.output and "\nFAILED suites" not in seen.output
    assert "not supported" not in terminal
    (line,) = [line for line in terminal.splitlines() if "not applicable" in line]
    assert line.startswith("not applicable    81 rules: ")

    page = (tmp_path / "report.md").read_text()
    assert len(unfolded(page)) <= 3 * SCREEN
    listed = [line for line in unfolded(page) if not line.startswith("<summary>")]
    assert not any("not applicable" in line or "not supported" in line for line in listed)
    for failure in report.failures:
        name = failure.test.rpartition("::")[2].removeprefix("test_")
        assert name in terminal, "by name in the terminal"
    assert all(cause.shown.replay in page for cause in found)
    assert sum(map(int, re.findall(r"(\d+) other failure", page))) + len(found) == len(report.failures)
