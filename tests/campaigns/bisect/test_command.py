"""The command: refused options, and the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from autograd_conformance import cli as command
from autograd_conformance.reporting.render.bisected import Bisected, VersionRow, render
from tests.campaigns.bisect.versions import FRAMEWORK, program

TWO = ["--python=1=/a", "--python=2=/b"]
INSTALLED = ["--versions", "1", "2"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "name the versions, the oldest first"),
        ([*TWO, *INSTALLED, "--install=a=={}"], "name the versions, the oldest first"),
        (INSTALLED, "--install 'PACKAGE=={}' need each other"),
        ([*INSTALLED, "--install=a"], "write {} in place of the version"),
        (["--python=1=/a"], "a search needs at least two versions"),
        ([TWO[0], "--python=1=/b"], "the version 1 is listed twice"),
        ([TWO[0], "--python=/b"], "write LABEL=PATH"),
        ([*TWO, "--framework-python=/a"], "needs --step"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words: list[str], said: str, tmp_path: Path, capsys) -> None:
    assert command.main(["bisect", str(program(tmp_path)), f"--framework={FRAMEWORK}", *words]) == 4
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--step", "--all"], ["--step", "--no-such-option"], ["--step", "--number=9"]])
def test_wrong_usage_of_a_step_says_nothing_of_the_commit(words: list[str], tmp_path: Path) -> None:
    """Git considers a commit bad if the exit code is 1 to 124, 126 or 127, and stops if it is 128 or higher."""
    assert command.main(["bisect", str(program(tmp_path)), f"--framework={FRAMEWORK}", *words]) == 255
    assert command.main(["bisect", str(tmp_path / "nowhere.json"), f"--framework={FRAMEWORK}", "--step"]) == 255


def test_the_page_says_what_was_found_and_what_was_not_tried() -> None:
    rows = (
        VersionRow("1.0"),
        VersionRow("1.1", "skipped", "it lacks sin"),
        VersionRow("1.2", "good", "it passes", "tiny 1.2"),
        VersionRow("1.3", "skipped", "no | such_module"),
        VersionRow("1.4", "bad", "gradients/op: returned another gradient", "tiny 1.4"),
    )
    found = Bisected("gradients/op", "tiny", rows, (("1.2", "1.4", True),))
    page = render(found)
    assert "**First bad: 1.4, last good: 1.2 (undecided between them: 1.3).**" in page
    assert "| 1.0 |  | not tried |  |" in page
    assert r"no \| such\_module" in page
    assert Bisected("gradients/op", "tiny", rows[:3], ()).answer == (
        "No tried version that can run the program fails. Not tried, because a newer version cannot run it: 1.0."
    )
    assert Bisected("gradients/op", "tiny", rows[:2], ()).answer == "None of the tried versions can run the program."
    assert Bisected("gradients/op", "tiny", rows, (("1.2", "1.4", False),)).answer.startswith("Last bad: 1.2, first")
