"""The command that runs the suites from any folder, and the contents of a package built from the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from autograd_conformance import cli as command
from autograd_conformance.checking.session import Session, Settings
from autograd_conformance.early import VALUED
from autograd_conformance.failures.record import replay_command
from autograd_conformance.package.places import PACKAGE
from autograd_conformance.package.sources import SUITE_VERSION
from autograd_conformance.plugin.help_page import COMMANDS

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
ROOMS = [path for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"]
TEST = "suites/test_lifetime.py::test_default_frees"
KNOWN = """
[[known]]
rule = "gradients/op"
op = "sin"
reason = "because"
relative = 1e-7
witness = "a = leaf [1]; b = sin a; backward b"
"""


def started(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs the command in a folder whose own settings and fixtures would end any run of pytest."""
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    (folder / "conftest.py").write_text("raise SystemExit('this conftest is not for the suites')\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}  # where the example is
    line = [sys.executable, "-m", "autograd_conformance.cli", "--framework=examples.tiny_adapter:Tiny"]
    return subprocess.run([*line, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


# -- the package -----------------------------------------------------------------------------------------------------


def test_folders_with_python_files_are_packages() -> None:
    folders = {path.parent for room in ROOMS for path in room.rglob("*.py")}
    assert [folder for folder in folders if not (folder / "__init__.py").exists()] == []


def test_files_that_are_no_python_are_in_the_package() -> None:
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["*"]
    packages = [PACKAGE, *(path.parent for room in ROOMS for path in room.rglob("__init__.py"))]
    packed = {path for package in packages for pattern in patterns for path in package.glob(pattern)}
    there = {path for place in (PACKAGE, *ROOMS) for path in place.rglob("*") if path.is_file()}
    assert sorted(path for path in there - packed if path.suffix not in (".py", ".pyc")) == []
    assert PACKAGE / "py.typed" in packed


def test_a_clone_without_links_says_what_to_type(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text((ROOT / "conftest.py").read_text())
    (tmp_path / "src" / "autograd_conformance").mkdir(parents=True)
    (tmp_path / "src" / "autograd_conformance" / "strategies").write_text("../../strategies")
    command = [sys.executable, "-m", "pytest", "--rootdir=.", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 4
    said = "symbolic links are missing from this clone; type: git config core.symlinks true && git checkout -- src"
    assert said in done.stderr.splitlines()


def test_the_version_stands_in_one_place() -> None:
    assert PROJECT["project"]["version"] == SUITE_VERSION
    assert f"## {SUITE_VERSION}" in (ROOT / "CHANGELOG.md").read_text()
    assert f"version: {SUITE_VERSION}" in (ROOT / "CITATION.cff").read_text()


# -- the command -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], ["-n", "auto", str(command.SUITES)]),
        (["-k", "lifetime", "-n0"], ["-k", "lifetime", "-n0", str(command.SUITES)]),
        (["--replay=a.json"], ["--replay=a.json", str(command.SUITES)]),
        ([TEST], ["-n", "auto", str(command.SUITES.parent / TEST)]),
    ],
)
def test_the_words_of_a_command_line(given: list[str], words: list[str]) -> None:
    assert command.arguments(given) == words


def test_it_runs_in_any_folder(tmp_path: Path) -> None:
    done = started(tmp_path, TEST, "-n", "0", "--hypothesis-seed=1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert "profile quick" in done.stdout
    assert "warning" not in done.stdout
    assert (tmp_path / "report" / "report.md").exists()
    assert {path.name for path in tmp_path.iterdir()} == {"conftest.py", "pytest.ini", "report"}


def test_a_file_of_known_differences_of_ones_own(tmp_path: Path) -> None:
    missing = started(tmp_path, TEST, "-n0", "--known", "known.toml")
    assert (missing.returncode, missing.stderr.strip()) == (4, "ERROR: known.toml: No such file or directory")
    (tmp_path / "known.toml").write_text(KNOWN)
    listed = started(tmp_path, TEST, "-n0", "--known", "known.toml")
    assert listed.returncode == 0, listed.stdout + listed.stderr
    assert "because" in (tmp_path / "report" / "report.md").read_text()


def test_a_replay_command_runs_where_the_user_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session.of(Settings("torch", tmp_path))
    monkeypatch.chdir(ROOT)
    assert replay_command(session, Path("a.json")) == "pytest --framework=torch --replay=a.json"
    monkeypatch.chdir(tmp_path)
    assert replay_command(session, Path("a.json")) == "autograd-conformance --framework=torch --replay=a.json"


# -- help --------------------------------------------------------------------------------------------------------------


def test_help_begins_with_the_commands_and_the_options_of_the_suite(tmp_path: Path) -> None:
    shown = started(tmp_path, "--help")
    lines = shown.stdout.splitlines()
    assert (shown.returncode, lines[0]) == (0, "usage: autograd-conformance [options] [suites/test_FILE.py ...]")
    words = {command.REPORT, command.CAMPAIGN, command.BISECT, command.VECTORS, *command.AUTHORING}
    assert {line.split()[0] for line in lines[6:13]} == words == {*COMMANDS}
    ours = lines.index("options of a run:")
    theirs = next(at for at, line in enumerate(lines) if line.startswith("Options of pytest"))
    for option in VALUED:
        (at,) = (at for at, line in enumerate(lines) if line.startswith(f"  {option} "))
        assert ours < at < theirs
    assert any(line.startswith("  --maxfail") for line in lines[theirs:])
    assert "usage: pytest" not in shown.stdout


@pytest.mark.parametrize(("words", "code"), [(["--help"], 0), (["probe", "examples.tiny_adapter:Tiny"], 2)])
def test_a_reader_that_ends_first_gets_no_traceback(words: list[str], code: int) -> None:
    """The pipe has no reader, as after `| head` has ended."""
    line = [sys.executable, "-m", "autograd_conformance.cli", *words]
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        done = subprocess.run(line, cwd=ROOT, stdout=pipe, stderr=subprocess.PIPE, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (code, "")
