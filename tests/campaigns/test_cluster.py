"""A cluster whose workers offer different resources: shards go to suitable workers, and missing resources are
reported.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from distributed import Client

from autograd_conformance.campaigns.cluster.engine import Engine, TaskEnd, local
from autograd_conformance.campaigns.storage.storage import Storage
from tests.campaigns.test_runs import FAULTY, QUICK, REAL, command, ran, wait
from tests.plugin.test_cli import ROOT

pytestmark = pytest.mark.slow

PLAN = (
    "seeds = [1, 6]\n[[work]]\nframeworks = ['a:X']\nresources = {'env-a' = 1}\n"
    "[[work]]\nframeworks = ['b:Y']\nresources = {'env-b' = 1}\n"
)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts processes of the cluster by their command lines, and ends them after the test."""
    with ExitStack() as ending:

        def start(*words: str) -> subprocess.Popen[bytes]:
            _, environment = command(QUICK, tmp_path, PLAN)
            process = subprocess.Popen([sys.executable, "-m", *words], env=environment, cwd=ROOT)
            ending.callback(process.wait)
            ending.callback(process.kill)
            return process

        yield start


def test_what_no_worker_can_run_is_reported_and_run_when_one_comes(
    tmp_path: Path, started: Callable[..., subprocess.Popen[bytes]]
) -> None:
    file = tmp_path / "scheduler.json"
    words = ["--host=127.0.0.1", "--port=0", "--no-dashboard", f"--scheduler-file={file}"]
    started("distributed.cli.dask_scheduler", *words)
    wait(file.exists)
    words = [f"--scheduler={file}", f"--storage={tmp_path / 'kept'}"]
    code, said = ran(QUICK, tmp_path, PLAN, *words, "--wait=0.02")
    told = " ".join(said.split())
    assert (code, "there is no" in told) == (3, False), said
    assert (
        "no worker offers env-a=1, or env-b=1, and none arrived within 1 s; to continue, run the same command again"
        in told
    )
    assert "Traceback" not in said

    def offering(what: str, workers: int) -> None:
        worker = ["distributed.cli.dask_worker", f"--scheduler-file={file}", "--nthreads=1", "--no-nanny"]
        started(*worker, "--no-dashboard", "--resources", what)
        with Client(scheduler_file=str(file)) as client:
            client.wait_for_workers(workers, timeout=300)

    offering("env-a=1", 1)
    code, said = ran(QUICK, tmp_path, PLAN, *words, "--wait=0.05")
    assert (code, "no worker offers env-b=1, and none arrived within 3 s" in " ".join(said.split())) == (3, True), said
    assert len(Storage(str(tmp_path / "kept")).names("shards")) == 6
    assert "**Unfinished:** 50 % of the campaign is done, and 1 of 2 series are incomplete." in page(tmp_path)
    offering("env-b=1", 2)
    code, said = ran(QUICK, tmp_path, PLAN, *words)
    assert (code, "6 shards of this campaign were already stored" in said) == (1, True), said
    assert len(Storage(str(tmp_path / "kept")).names("shards")) == 12
    assert "Unfinished" not in page(tmp_path)


def test_a_task_is_kept_from_a_worker_unless_there_is_no_other() -> None:
    with local(2, {}, None) as engine:
        one, other = engine.workers
        for number in range(6):
            engine.submit(number, os.getpid, resources={}, first=False, avoid={one})
        assert {each.worker for each in all_of(engine)} == {other}
        engine.submit("none", os.getpid, resources={}, first=False, avoid={one, other})
        (ended,) = all_of(engine)
        assert ended.outcome == "returned"


def test_a_task_whose_workers_have_gone_is_reported_as_lost() -> None:
    with local(2, {}, None) as engine:
        one, other = engine.workers
        engine.submit("pid", os.getpid, resources={}, first=False, avoid={one})
        (ended,) = all_of(engine)
        engine.submit({"no": "hash"}, time.sleep, 600, resources={}, first=False, avoid={one})
        time.sleep(1)
        os.kill(ended.result, signal.SIGKILL)
        (ended,) = all_of(engine)
        assert (ended.task, ended.outcome) == ({"no": "hash"}, "lost")
        assert other not in engine.workers


def all_of(engine: Engine) -> list[TaskEnd]:
    """The ends of all tasks."""
    found: list[TaskEnd] = []
    deadline = time.monotonic() + 120
    while engine.busy:
        assert time.monotonic() < deadline
        found += engine.wait(0.5)
    return found


def test_a_shard_that_is_too_small_for_its_audit_is_reported(tmp_path: Path) -> None:
    plan = f"seeds = [1, 50]\nshard = 3\n[[work]]\nframeworks = ['{FAULTY}']\nsuites = ['lifetime']\n"
    code, said = ran(REAL, tmp_path, plan, "--workers=1", f"--storage={tmp_path / 'kept'}")
    assert code == 3, said
    told = " ".join(said.split())
    assert "a shard of 3 programs ends during the initial audit of the ops" in told
    assert "make `shard` larger; the series is stopped" in told
    assert "tries" not in said
    assert "a shard of 3 programs ends during the initial audit of the ops" in page(tmp_path)


def test_a_campaign_beside_another_says_where_it_is_and_nothing_of_ports(tmp_path: Path) -> None:
    with socket.socket() as taken:
        with suppress(OSError):  # another process has it
            taken.bind(("", 8787))
            taken.listen()
        code, said = ran(QUICK, tmp_path, "seeds = [1, 2]\n[[work]]\nframeworks = ['a:X']\n", f"--storage={tmp_path}")
    assert code == 0, said
    assert said.startswith(f"{tmp_path}, "), "at once, and nothing before it"
    assert "8787" not in said


def page(folder: Path) -> str:
    return (folder / "report" / "campaign.md").read_text(encoding="utf-8")
