"""The scripts of the action and the workflow, run here on a framework's own repository, and on a history with
its site.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from autograd_conformance.reporting.analysis.verdicts import Exit
from autograd_conformance.reporting.records.stream import read
from tests.reporting.miniatures import FOOTER, HEADER, PASSES, RULES, written

ROOT = Path(__file__).parents[2]


def script(name: str, *words: object, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a script of `.ci` in a folder, with this interpreter's commands."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return subprocess.run(
        ["bash", str(ROOT / ".ci" / name), *map(str, words)],
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
    )


@pytest.mark.slow
def test_a_history_grows_and_its_site_with_it(tmp_path: Path) -> None:
    published = tmp_path / "published"
    published.mkdir()
    about = {"PUBLISHED": str(published)}
    for month in (1, 2):
        run = replace(HEADER, started=f"2026-0{month}-01T00:00:00Z")
        file = written(tmp_path / "records.jsonl", run, *RULES, *PASSES, FOOTER)
        done = script("publish", "history", "public", file, folder=tmp_path, **about)
        assert done.returncode == 0, done.stdout + done.stderr
    kept = sorted(path.name for path in (tmp_path / "history" / "toytorch").iterdir())
    assert kept == ["20260101000000-1.2-cpu.jsonl.gz", "20260201000000-1.2-cpu.jsonl.gz"]
    assert done.stdout.endswith("public/index.html: 2 runs\n")
    assert len(list((tmp_path / "public" / "run").iterdir())) == 2
    other = replace(HEADER, framework=replace(HEADER.framework, name="another"))
    written(published / "another.jsonl", other, *RULES, *PASSES, FOOTER)
    done = script("publish", "history", "public", folder=tmp_path, **about)
    assert done.stdout.endswith("public/index.html: 3 runs\n")
    assert not (tmp_path / "history" / "another").exists()


def test_the_script_is_given_all_that_the_action_is() -> None:
    action, run = ((ROOT / name).read_text() for name in ("action.yml", ".ci/conformance"))
    told = set(re.findall(r"^# ([A-Z]{2,}) ", run, re.MULTILINE))
    given = set(re.findall(r"^ {8}([A-Z]+): \$\{\{ inputs\.", action, re.MULTILINE))
    assert told and given == told | {"INSTALL"}
    inputs = re.findall(r"^  ([a-z-]+):$", action.partition("outputs:")[0], re.MULTILINE)
    assert inputs and all(f"inputs.{name} }}}}" in action for name in inputs)


@pytest.mark.parametrize("code", [int(each) for each in Exit])
def test_the_action_is_red_for_all_but_0(code: int, tmp_path: Path) -> None:
    """The script returns the exit code of the run. The action's step is this script, and it stops if the
    script fails.
    """
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "autograd-conformance"
    command.write_text(f'#!/bin/sh\n[ "$1" = report ] || exit {code}\n')
    command.chmod(0o755)
    output = tmp_path / "output"
    path = os.pathsep.join((str(tmp_path / "bin"), os.environ["PATH"]))
    done = subprocess.run(
        ["bash", str(ROOT / ".ci" / "conformance")],
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "FRAMEWORK": "mine:Mine", "GITHUB_OUTPUT": str(output)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stderr
    assert output.read_text() == f"exit-code={code}\n"
    step = (ROOT / "action.yml").read_text().partition("name: Run")[2].partition("- name:")[0]
    assert 'run: bash "$GITHUB_ACTION_PATH/.ci/conformance"' in step and "continue-on-error" not in step


@pytest.mark.slow
def test_a_run_in_a_frameworks_own_repository(tmp_path: Path) -> None:
    (tmp_path / "known.toml").write_text("")
    about = {"FRAMEWORK": "examples.tiny_adapter:Tiny", "OPTIONS": "-n 1 -q -k test_lifetime --hypothesis-seed=1"}
    summary = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"), "GITHUB_OUTPUT": str(tmp_path / "output")}
    done = script("conformance", folder=tmp_path, KNOWN="known.toml\n", **about, **summary)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "output").read_text() == "exit-code=0\n"
    assert "### tiny 1.0" in (tmp_path / "summary.md").read_text()
    assert read(tmp_path / "report" / "records.jsonl").programs > 0
    assert (tmp_path / "report" / "badge.svg").exists() and (tmp_path / "report" / "badge.json").exists()
    failed = script("conformance", folder=tmp_path, FRAMEWORK="nosuch.module:Adapter", REPORT="other", **summary)
    assert failed.returncode == 4 and (tmp_path / "output").read_text().endswith("exit-code=4\n")
