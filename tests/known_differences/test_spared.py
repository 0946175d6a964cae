"""Situations that programs leave out, because the framework ends the process in them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from autograd_conformance.checking.session import FrameworkUnderTest, Settings
from autograd_conformance.checking.session.records import header
from autograd_conformance.known_differences import MalformedKnownDifferences, spared
from autograd_conformance.known_differences.entry import Environment, Spared
from autograd_conformance.known_differences.file import shipped
from autograd_conformance.programs.formats.text import render
from autograd_conformance.programs.hazards import Hazard
from tests.plugin.test_cli import run

ENTRY = """
[[spared]]
situation = "hook on an outdated view"
reason = "It ends the process."
witness = "a = leaf [1, 2]; b = square a; k = hook b observe; backward b with [1, 1]"
"""
OBSERVE = """
import sys
from autograd_conformance.checking.session import FrameworkUnderTest, Settings
from autograd_conformance.programs.formats.text import parse
FrameworkUnderTest(Settings("torch")).target.observe(parse(sys.argv[1]))
"""


def test_each_situation_is_an_entry_of_some_framework() -> None:
    files = [file for file in map(shipped, ("torch", "paddle")) if file is not None]
    assert [each.situation for file in files for each in spared(file)] == list(Hazard)


@pytest.mark.parametrize("entry", FrameworkUnderTest(Settings("torch")).spared, ids=lambda each: each.situation.name)
def test_the_witness_ends_the_process(entry: Spared) -> None:
    ran = subprocess.run([sys.executable, "-c", OBSERVE, render(entry.witness)], check=False, capture_output=True)
    assert ran.returncode < 0, ran.stderr.decode()


def test_a_version_that_does_not_end_draws_the_situation(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text(ENTRY + 'version = "<2"\n', encoding="utf-8")
    (entry,) = spared(tmp_path / "known.toml")
    assert [entry.applies(Environment(version, "cpu", "Linux", "x86_64")) for version in ("1.9", "2.0")] == [
        True,
        False,
    ]
    file = tmp_path / "known.toml"
    assert FrameworkUnderTest(Settings("torch", known_files=(file,))).alphabet.spared == frozenset()


def test_a_file_has_what_its_included_files_spare(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('include = ["torch"]\n', encoding="utf-8")
    framework = FrameworkUnderTest(Settings("torch", known_files=(tmp_path / "mine.toml",)))
    assert framework.alphabet.spared == {Hazard.OUTDATED_HOOK, Hazard.WRITTEN_RESULT}
    assert any("a write to a result whose gradient is kept" in note for note in header(framework, 1, "quick", 1).notes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            ENTRY.replace("outdated", "old"),
            "line 2: situation has to be a situation: hook on an outdated view, write to",
        ),
        (ENTRY.replace("reason", "reasons"), "there is no key 'reasons'; 'reason' is one"),
        (ENTRY.replace("reason", "link").replace("It ends the process.", "not reported"), "'reason' is missing"),
        ("spared = 1", "begin each with [[spared]]"),
        (ENTRY + 'op = "sin"\n', "there is no key 'op'"),
    ],
    ids=["situation", "key", "missing", "no-list", "condition"],
)
def test_an_invalid_entry_is_one_message(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text(text, encoding="utf-8")
    with pytest.raises(MalformedKnownDifferences) as error:
        spared(tmp_path / "known.toml")
    assert message in str(error.value)


def test_a_run_refuses_an_invalid_entry_before_it_starts(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text(ENTRY.replace("outdated", "old"), encoding="utf-8")
    seen = run(tmp_path, "--known", tmp_path / "known.toml", framework="torch")
    assert seen.code == 4, seen.output
    assert "situation has to be a situation" in seen.output and "INTERNALERROR" not in seen.output
