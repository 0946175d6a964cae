"""Plans of searches run by the command, on a cluster on this machine: output, and work that is done once."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from tests.campaigns.bisect.versions import FRAMEWORK, RIGHT, WRONG, interpreter, program, sources
from tests.campaigns.test_runs import REAL, command, ran, wait

pytestmark = pytest.mark.slow

FATAL = """#!/bin/sh
if [ ! -e "{folder}/killed" ]; then
    touch "{folder}/killed"
    kill -9 "$(awk '{{print $4}}' "/proc/$PPID/stat")"
    sleep 60
fi
exec "{python}" "$@"
"""
"""An interpreter that kills the worker once: the worker is the parent of its parent process."""


def read_plan(folder: Path, sines: dict[str, str]) -> str:
    """A plan with a version for each derivative of the sine."""
    program(folder)
    for label, sine in sines.items():
        interpreter(folder / label, sources(label, sine))
    labels = ", ".join(f"'{label}'" for label in sines)
    return (
        f"[[bisect]]\nframework = '{FRAMEWORK}'\nfindings = ['finding.json']\nversions = [{labels}]\n"
        f"python = '{folder}/{{}}/python'\n"
    )


def stamps(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("kept/verdicts/*/*.json")}


def test_each_change_is_found_though_a_worker_dies_and_the_command_is_stopped(tmp_path: Path) -> None:
    plan = read_plan(tmp_path, {"1.0": RIGHT, "2.0": WRONG, "3.0": RIGHT, "4.0": WRONG})
    real = (tmp_path / "1.0" / "python").rename(tmp_path / "1.0" / "real")
    (tmp_path / "1.0" / "python").write_text(FATAL.format(folder=tmp_path, python=real))
    (tmp_path / "1.0" / "python").chmod(0o755)
    words = ["--workers=1", f"--storage={tmp_path / 'kept'}"]
    line, environment = command(REAL, tmp_path, plan, *words)
    with subprocess.Popen(line, env=environment, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        wait(lambda: stamps(tmp_path), 300)
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=120)
    assert (process.returncode, "stopped; to continue, run the same command again" in said) == (2, True), said
    there = stamps(tmp_path)
    assert 1 <= len(there) < 4
    assert "**Unfinished:**" in (tmp_path / "report" / "bisected.md").read_text()
    code, said = ran(REAL, tmp_path, plan, *words)
    assert (code, "already" in said) == (0, True), said
    assert (tmp_path / "killed").exists()
    answer = "First bad: 2.0, last good: 1.0. Last bad: 2.0, first good: 3.0. First bad: 4.0, last good: 3.0."
    assert answer in said
    page = (tmp_path / "report" / "bisected.md").read_text()
    assert f"**{answer}**" in page
    assert "| 2.0 | tiny 2.0 | bad | gradients/op: returned with another gradient" in page
    kept = stamps(tmp_path)
    assert len(kept) == 4
    assert there.items() <= kept.items(), "nothing is written twice"
    code, said = ran(REAL, tmp_path, plan, *words)
    assert (code, "4 verdicts of this plan were already stored" in said, answer in said) == (0, True, True)
    assert stamps(tmp_path) == kept


def test_versions_go_to_the_workers_that_have_their_environments(tmp_path: Path) -> None:
    """As on two machines: the folder of each worker has one version's environment, and the scheduler knows which."""
    plan = read_plan(tmp_path, {"1.0": RIGHT, "2.0": WRONG}).replace(str(tmp_path / "{}"), "./env-{}")
    plan = plan.replace("findings = ['f", f"findings = ['{tmp_path}/f").replace("'2.0']", "'2.0', '3.0']")
    plan += "resources = {'tiny-{}' = 1}\n"
    scheduler = tmp_path / "scheduler.json"
    cli = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host=127.0.0.1", "--port=0", "--no-dashboard"]
    line, environment = command(REAL, tmp_path, plan, f"--scheduler={scheduler}", f"--storage={tmp_path / 'kept'}")
    running = [subprocess.Popen([*cli, f"--scheduler-file={scheduler}"], env=environment)]
    try:
        wait(scheduler.exists)
        for label, offers in (("1.0", "tiny-1.0=1"), ("2.0", "tiny-2.0=1 tiny-3.0=1")):
            folder = tmp_path / f"worker-{label}"
            folder.mkdir()
            (folder / f"env-{label}").symlink_to(tmp_path / label)
            worker = [sys.executable, "-m", "distributed.cli.dask_worker", f"--scheduler-file={scheduler}"]
            worker += ["--nthreads=1", "--no-nanny", "--no-dashboard", "--resources", offers]
            running.append(subprocess.Popen(worker, env=environment, cwd=folder))
        done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    finally:
        for process in running:
            process.kill()
            process.wait()
    assert done.returncode == 3, done.stdout + done.stderr
    assert "First bad: 2.0, last good: 1.0." in done.stdout
    assert "given up: the environment of 3.0 does not exist here: ./env-3.0/python is missing (on " in done.stdout
    assert len(stamps(tmp_path)) == 2
