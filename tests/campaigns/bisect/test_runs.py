"""Searches by the command: over interpreters, over packages that it installs, and over commits with git."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.campaigns.bisect.versions import DIES, FRAMEWORK, RIGHT, WRONG, interpreter, program, sources, wheel, write
from tests.plugin.test_cli import ROOT

pytestmark = pytest.mark.slow

COMMAND = [sys.executable, "-m", "autograd_conformance.cli", "bisect"]


def ran(folder: Path, *words: str) -> tuple[int, str]:
    """The exit code and all that was printed, with white space collapsed."""
    line = [*COMMAND, str(program(folder)), f"--framework={FRAMEWORK}", *words]
    done = subprocess.run(
        line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert "Traceback" not in done.stdout
    return done.returncode, " ".join(done.stdout.split())


def test_the_version_in_which_a_finding_began_is_found_among_interpreters(tmp_path: Path) -> None:
    words = []
    for at in range(1, 9):
        files = sources(f"{at}.0", WRONG if at >= 6 else RIGHT, broken=at in (1, 4))
        words.append(f"--python=v{at}={interpreter(tmp_path / f'v{at}', files)}")
    page = tmp_path / "page.md"
    code, said = ran(tmp_path, *words, f"--markdown={page}")
    assert code == 0, said
    assert said.endswith("First bad: v6, last good: v5.")
    text = page.read_text()
    assert "| v6 | tiny 6.0 | bad | gradients/op: returned with another gradient" in text
    assert re.search(r"\| v1 \|  \| skipped \| .*importing examples", text)
    assert text.count("not tried") >= 2
    code, said = ran(tmp_path, *words[3:6], "--all")
    assert (code, said.endswith("First bad: v6, last good: v5.")) == (0, True)
    code, said = ran(tmp_path, words[2], words[3], words[5])
    assert (code, said.endswith("First bad: v6, last good: v3 (undecided between them: v4).")) == (3, True)
    code, said = ran(tmp_path, words[6], words[7])
    assert (code, "v7 is the oldest of them" in said) == (1, True)
    code, said = ran(tmp_path, words[0], words[3])
    assert (code, said.endswith("None of the tried versions can run the program.")) == (3, True)


def test_the_end_of_the_process_is_bad_and_another_difference_tells_nothing(tmp_path: Path) -> None:
    found = {"right": RIGHT, "shapeless": "np.zeros(7)", "dies": DIES}
    python = {name: interpreter(tmp_path / name, sources("1.0", sine)) for name, sine in found.items()}
    code, said = ran(tmp_path, *(f"--python={name}={path}" for name, path in python.items()), "--all")
    assert (code, "dies bad: the process died of SIGABRT" in said) == (3, True), said
    assert "shapeless skipped: it breaks another rule: errors/legal-returns" in said
    assert said.endswith("First bad: dies, last good: right (undecided between them: shapeless).")


def test_packages_are_installed_into_environments_that_stay(tmp_path: Path) -> None:
    for version in ("1", "2"):
        wheel(tmp_path, version, sources(version, WRONG if version == "1" else RIGHT))
    words = ["--versions", "1", "2", "3", f"--environments={tmp_path / 'made'}"]
    words.append(f"--install={tmp_path}/tiny_versions-{{}}-py3-none-any.whl")
    code, said = ran(tmp_path, *words)
    assert code == 0, said
    assert "3 skipped: pip install" in said, "there is no such file"
    assert said.endswith("Last bad: 1, first good: 2.")
    made = sorted(path for path in (tmp_path / "made").glob("[12]-*/made"))
    assert len(made) == 2
    times = [path.stat().st_mtime_ns for path in made]
    code, said = ran(tmp_path, *(word for word in words if word != "3"))
    assert (code, said.endswith("Last bad: 1, first good: 2.")) == (0, True)
    assert [path.stat().st_mtime_ns for path in made] == times, "nothing is installed twice"


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_git_finds_the_commit(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    settings = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false"]

    def git(*words: str) -> str:
        done = subprocess.run(
            ["git", *settings, *words], cwd=repository, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    git("init", "--quiet")
    for at in range(1, 9):
        write(repository, sources(f"{at}.0", WRONG if at >= 6 else RIGHT, broken=at == 4))
        git("add", ".")
        git("commit", "--quiet", "--message", f"version {at}")
    git("bisect", "start", "HEAD", "HEAD~7")
    step = [*COMMAND, str(program(tmp_path)), f"--framework={FRAMEWORK}", "--step"]
    said = git("bisect", "run", *step)
    assert "is the first bad commit" in said
    assert "version 6" in said.partition("is the first bad commit")[2], shlex.join(step)
    assert "skipped: " in git("bisect", "log") + said
