"""Options accept both forms, `--option value` and `--option=value`, with any path as the value."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autograd_conformance import early
from autograd_conformance.plugin.options import add_options
from tests.plugin.test_cli import ROOT, TINY, written

PATHS = ("--report", "--known", "--update-known", "--framework-python")
"""Options whose values are paths, in runs that only collect tests; `--replay` runs programs."""

STARTS = {
    "pytest": ([sys.executable, "-m", "pytest"], ROOT),
    "a folder of the checkout": ([sys.executable, "-m", "pytest", "--rootdir=.."], ROOT / "suites"),
    "the command": ([sys.executable, "-m", "autograd_conformance.cli"], ROOT),
}


def started(how: str, *words: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    given, folder = STARTS[how]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")} | variables
    return subprocess.run(
        [*given, *map(str, words)], cwd=folder, env=environment, timeout=120, stdout=-1, stderr=subprocess.STDOUT,
        text=True,
    )  # fmt: skip


def test_every_option_of_the_suite_is_joined_to_its_value():
    added: list[str] = []

    def add(name: str, action: str = "store", **_: object) -> None:
        added.extend([name] if action != "store_true" else [])

    group: Any = SimpleNamespace(addoption=add)
    add_options(SimpleNamespace(getgroup=lambda *_: group))  # type: ignore[arg-type]
    assert set(added) == early.VALUED


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["--report", "/tmp"], ["--report=/tmp"]),
        (["--report=/tmp", "suites"], ["--report=/tmp", "suites"]),
        (["--replay", "a", "--replay", "b"], ["--replay=a", "--replay=b"]),
        (["--known", "a b", "-k", "sin"], ["--known=a b", "-k", "sin"]),
        (["--framework", "remote: node x.mjs"], ["--framework=remote: node x.mjs"]),
        (["--report"], ["--report"]),
        (["--report", "--co"], ["--report", "--co"]),
        (["--report", "suites", "suites"], ["--report=suites", "suites"]),
        (["--", "--report", "suites"], ["--", "--report", "suites"]),
        (["--junitxml", "/elsewhere/x.xml"], ["--junitxml", "/elsewhere/x.xml"]),
        ([], []),
    ],
)
def test_an_option_and_its_value_become_one_word(given, expected):
    assert early.joined(given) == expected


def place(option: str, folder: Path, exists: bool) -> Path:
    """A path for an option's value in a folder, with a file there if the option needs one."""
    path = folder / option.strip("-")
    if exists and option == "--report":
        path.mkdir(parents=True)
    elif exists:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return path


@pytest.mark.slow
@pytest.mark.parametrize("how", STARTS)
@pytest.mark.parametrize("exists", [True, False], ids=["existing", "new"])
@pytest.mark.parametrize("joins", [True, False], ids=["one word", "two words"])
@pytest.mark.parametrize("inside", [True, False], ids=["inside", "outside"])
def test_all_path_options_take_both_forms(how, exists, joins, inside, tmp_path):
    folder = ROOT / "report" / f"forms-{os.getpid()}" if inside else tmp_path
    try:
        values = [(option, str(place(option, folder, exists))) for option in PATHS]
        words = [f"{option}={value}" for option, value in values] if joins else [w for pair in values for w in pair]
        done = started(how, "--framework", TINY, *words, "--co", "-q", "-k", "test_default_frees")
    finally:
        for option in PATHS if inside and exists else ():
            path = folder / option.strip("-")
            path.rmdir() if path.is_dir() else path.unlink()
        if inside and folder.exists():
            folder.rmdir()
    assert done.returncode == 0, done.stdout
    assert "test_lifetime.py::test_default_frees" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("option", PATHS)
def test_each_path_option_alone_may_name_a_path_elsewhere_that_exists(option, tmp_path):
    done = started("pytest", option, place(option, tmp_path, True), "--co", "-q", "-k", "test_default_frees")
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("how", STARTS)
@pytest.mark.parametrize("joins", [True, False], ids=["one word", "two words"])
def test_a_file_to_replay_may_lie_elsewhere(how, joins, tmp_path):
    path = written(tmp_path / "fine.json", "a = leaf [1, 2]\nb = exp a\nbackward b with [1, 1]")
    words = [f"--replay={path}"] if joins else ["--replay", path]
    done = started(how, "--framework", TINY, *words)
    assert done.returncode == 0, done.stdout
    assert f"{path}: fixed" in done.stdout


@pytest.mark.slow
def test_a_report_goes_to_the_folder_that_is_named_apart(tmp_path):
    test = "suites/test_lifetime.py::test_default_frees"
    done = started("pytest", test, "--framework", TINY, "--report", tmp_path, "-n", "0", "--confirm", "0")
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "report.md").exists()


@pytest.mark.slow
def test_options_of_the_environment_are_joined_too(tmp_path):
    added = {"PYTEST_ADDOPTS": f"--report {tmp_path} -k test_default_frees"}
    done = started("pytest", "--framework", TINY, "--co", "-q", **added)
    assert done.returncode == 0, done.stdout
    assert "test_default_frees" in done.stdout
