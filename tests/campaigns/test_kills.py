"""A campaign survives killed processes: no shard is counted twice, and none is lost."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path

import pytest

pytest.importorskip("distributed")

from autograd_conformance.campaigns.shards.shard import Series
from autograd_conformance.reporting.records.records import Report
from autograd_conformance.reporting.records.stream import read
from tests.campaigns.quick import SECONDS, report
from tests.plugin.test_cli import ROOT

pytestmark = pytest.mark.slow

SEEDS, KILLS = 150, 20
STUCK = 600.0
"""Seconds without a new shard after which the campaign is considered stuck. Even on a very busy machine a process
starts within a minute. A limit on the whole test would only measure how busy the machine is.
"""
PLAN = f"seeds = [1, {SEEDS}]\n[[work]]\nframeworks = ['a:X', 'b:Y']\n"


@dataclass
class Processes:
    """A scheduler, two workers and a client, each started again when it ends."""

    folder: Path
    address: str
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    starts: dict[str, int] = field(default_factory=dict)

    def command(self, name: str) -> list[str]:
        cli = "distributed.cli.dask_scheduler" if name == "scheduler" else "distributed.cli.dask_worker"
        port = self.address.rpartition(":")[2]
        if name == "scheduler":
            return ["-m", cli, "--host=127.0.0.1", f"--port={port}", "--no-dashboard"]
        if name == "client":
            words = ["-m", "tests.campaigns.quick", str(self.folder / "plan.toml"), "--scheduler", self.address]
            return [*words, f"--storage={self.folder / 'kept'}", f"--report={self.folder / 'report'}"]
        return ["-m", cli, self.address, "--nthreads=1", "--no-nanny", "--no-dashboard", "--death-timeout=60"]

    def start(self, name: str) -> None:
        self.starts[name] = self.starts.get(name, 0) + 1
        environment = {**os.environ, SECONDS: "0.3", "PYTHONPATH": str(ROOT), "TMPDIR": str(self.folder)}
        with (self.folder / f"{name}.txt").open("ab") as file:
            self.running[name] = subprocess.Popen(
                [sys.executable, *self.command(name)], cwd=ROOT, env=environment, stdout=file, stderr=file
            )

    def revive(self) -> int | None:
        """Start ended processes again; returns the client's exit code if it finished the campaign."""
        for name, process in list(self.running.items()):
            if process.poll() is None:
                continue
            if name == "client" and process.returncode not in (2, 4, -signal.SIGKILL):
                return process.returncode
            self.start(name)
        return None

    def kill(self, name: str) -> None:
        self.running[name].kill()
        self.running[name].wait()


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    (tmp_path / "plan.toml").write_text(PLAN)
    found = Processes(tmp_path, address)
    yield found
    for process in found.running.values():
        process.kill()
        process.wait()


def kept(folder: Path) -> int:
    return len(list((folder / "kept").glob("shards/*/*.gz")))


def going_on(folder: Path) -> Iterator[int]:
    """Yields the number of stored shards, as long as it grows."""
    most, since = -1, time.monotonic()
    while True:
        there = kept(folder)
        if there > most:
            most, since = there, time.monotonic()
        assert time.monotonic() < since + STUCK, f"it does not go on behind {most} shards"
        yield there
        time.sleep(0.1)


def test_a_worker_the_scheduler_and_the_client_are_killed_in_turn(processes: Processes):
    for name in ("scheduler", "worker", "other worker", "client"):
        processes.start(name)
    for name in islice(cycle(["worker", "scheduler", "client", "other worker"]), KILLS):
        before = kept(processes.folder)
        for there in going_on(processes.folder):
            assert processes.revive() is None, "the campaign ended before all was killed: give it more seeds"
            if there >= before + 8:
                break
        processes.kill(name)
    for _ in going_on(processes.folder):
        if (code := processes.revive()) is not None:
            break
    assert code == 1, (processes.folder / "client.txt").read_text()[-3000:]
    assert processes.starts["client"] >= 1 + KILLS // 4
    assert kept(processes.folder) == 2 * SEEDS
    for framework in ("a:X", "b:Y"):
        found = read(processes.folder / "report" / f"{framework.replace(':', '-').casefold()}-1.2" / "records.jsonl")
        alone = [report(Series(framework, (), "both", "cpu", 1), seed) for seed in range(1, SEEDS + 1)]
        assert found.programs == sum(each.programs for each in alone)
        assert failing(found) == {failure.test for each in alone for failure in each.failures}


def failing(found: Report) -> set[str]:
    return {result.test for result in found.results if result.verdict == "fail"}
