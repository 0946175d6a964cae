"""Files in the user's current folder affect neither the framework nor the suite: modules there replace no others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from autograd_conformance.frameworks.loading.registry import load
from autograd_conformance.frameworks.remote.client import Remote
from autograd_conformance.frameworks.remote.command import is_built_in, served
from autograd_conformance.frameworks.target import open_target
from autograd_conformance.processes.child import PYTHON, finished
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.observations import Returned
from autograd_conformance.reporting.records.stream import load as records
from tests.plugin.test_cli import EXP, ROOT, SINE, Run

HIDING = (
    "abc_", "ast", "bdb", "calendar", "cmd", "code", "conftest", "copy", "csv", "dataclasses", "decimal", "difflib",
    "email", "fractions", "gzip", "hypothesis", "inspect", "jax", "json", "logging", "numpy", "pdb", "pickle", "pip",
    "platform", "pluggy", "pytest", "queue", "random", "scipy", "secrets", "shlex", "signal", "sitecustomize_",
    "sqlite3", "statistics", "string", "struct", "tempfile", "textwrap", "threading", "token", "tomllib", "torch",
    "uuid", "xdist", "zipfile",
)  # fmt: skip
"""Modules that the suite, pytest, a worker or a framework imports."""

WRITTEN = """
import pathlib
with open({path!r}, "a") as file:
    print({name!r}, file=file)
raise RuntimeError("the wrong {name}")
"""

MINE = """
from tiny_adapter import Tiny as Usual

class Mine(Usual):
    name = "mine"

class Wrong(Mine):
    name = "wrong"

    def apply(self, op, operands, attrs):
        made = super().apply(op, operands, attrs)
        return super().apply("sin", made, ()) if op == "sin" else made
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of modules with these names, and a user's adapter."""
    made = tmp_path / "folder"
    made.mkdir()
    for name in HIDING:
        (made / f"{name}.py").write_text(WRITTEN.format(path=str(tmp_path / "hidden"), name=name))
    for name in ("tiny", "tiny_adapter"):
        text = (ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8")
        (made / f"{name}.py").write_text(text.replace("from examples import", "import"))
    (made / "mine.py").write_text(MINE)
    return made


def run(folder: Path, framework: str, *words: str, how: tuple[str, ...] = ()) -> Run:
    """Runs the command in a folder; fails if a module of the folder was imported instead of another."""
    report = folder.parent / "report"
    how = how or ("-P", "-m", "autograd_conformance.cli")
    options = [f"--framework={framework}", "--hypothesis-profile=quick", f"--report={report}"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHONPATH"))}
    done = subprocess.run(
        [sys.executable, *how, *options, *words], cwd=folder, env=environment, timeout=600,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    hidden = folder.parent / "hidden"
    assert not hidden.exists(), (hidden.read_text(), done.stdout)
    return Run(done.returncode, done.stdout, report)


def test_a_module_of_the_folder_hides_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert load("torch").name == "torch"
    assert str(folder) not in sys.path
    assert load("mine:Mine").name == "mine"
    assert sys.path[-1] == str(folder)
    for name in ("mine", "tiny", "tiny_adapter"):
        sys.modules.pop(name, None)


def test_an_adapter_in_the_folder_is_found_before_another_of_its_name(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.py").write_text("raise RuntimeError('the wrong one')")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [str(other), *sys.path])
    assert load("mine:Mine").name == "mine"
    for name in ("mine", "tiny", "tiny_adapter"):
        sys.modules.pop(name, None)


def test_a_process_that_is_started_looks_for_nothing_in_the_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    done = finished([*PYTHON, "-c", "import code, queue, random, torch; print(code.__file__)"], 100)
    assert (done.code, Path(done.printed).parent) == (0, Path(os.__file__).parent), done.errors


@pytest.mark.parametrize("framework", ["jax", "mine:Mine"])
def test_a_worker_is_served_in_the_folder(folder: Path, framework: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    target = open_target(served(framework, sys.executable, None))
    assert isinstance(target, Remote)
    assert target.name == framework.partition(":")[0]
    assert all(isinstance(seen.outcome, Returned) for seen in target.observe(parse("a = leaf [1, 2]; b = sin a")))
    target.connection.close()
    assert not (folder.parent / "hidden").exists()


@pytest.mark.parametrize(
    ("name", "built_in"),
    [("torch", True), ("mine:Mine", False), ("remote: node far.mjs", False), ("remote: python far.py torch", False)],
)
def test_what_comes_with_the_suite_needs_nothing_of_the_folder(name: str, built_in: bool) -> None:
    assert is_built_in(name) is built_in
    if not name.startswith("remote"):
        assert is_built_in(served(name, sys.executable, None)) is built_in


@pytest.mark.slow
@pytest.mark.parametrize(
    ("framework", "words", "how"),
    [
        ("mine:Mine", ("-n", "2"), ()),
        ("mine:Mine", ("-n", "1", "--fresh-process=50"), ()),
        ("mine:Mine", ("-n", "0"), ("-m", "autograd_conformance.cli")),
        ("mine:Mine", ("-n", "1", f"--framework-python={sys.executable}"), ()),
    ],
)
def test_a_run_tests_what_is_named(folder: Path, framework: str, words: tuple[str, ...], how: tuple[str, ...]) -> None:
    seen = run(folder, framework, *words, SINE, EXP, how=how)
    assert seen.code == 0, seen.output
    assert seen.report.header.framework.name == framework.partition(":")[0]
    assert {result.verdict for result in seen.report.results} == {"pass"}


@pytest.mark.slow
@pytest.mark.parametrize("words", [("-n", "1"), ("-n", "1", "--fresh-process=50")])
def test_a_failure_is_confirmed_and_replayed_in_the_folder(folder: Path, words: tuple[str, ...]) -> None:
    seen = run(folder, "mine:Wrong", *words, SINE)
    assert seen.code == 1, seen.output
    alone = seen.failure.alone
    assert alone is not None and alone.failed == alone.runs
    again = run(folder, "mine:Wrong", f"--replay={seen.failure.replay}")
    assert again.code == 1 and "still failing" in again.output
    fixed = run(folder, "mine:Mine", f"--replay={seen.failure.replay}")
    assert fixed.code == 0 and "fixed" in fixed.output
    assert records(seen.folder / "records.jsonl").failures
