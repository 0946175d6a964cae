"""Compares the speed of two commits: a process of each does the same work in turn, measured in CPU seconds.

A machine's speed changes within minutes, and other processes may use it. Measurements that are a second apart are
comparable.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from evaluation.benchmarks.worker import WORKLOADS

ROOT = Path(__file__).resolve().parents[2]
WORKER = Path("evaluation", "benchmarks", "worker.py")
"""The worker of each commit, which knows the names of that commit."""


class Worker:
    """A process that measures the speed of one version of the suite."""

    def __init__(self, checkout: Path) -> None:
        if not (checkout / WORKER).exists():
            sys.exit(f"This commit has no {WORKER}; compare with a later one.")
        environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
        self.process = subprocess.Popen(
            [sys.executable, str(WORKER)], cwd=checkout, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def measure(self, name: str, number: int, start: int) -> tuple[float, float]:
        """CPU seconds to draw some programs, and to draw, run and judge them."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([name, number, start]), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"The worker of {self.process.args!r} ended; run it by hand to see why.")
        drawing, whole = json.loads(line)
        return drawing, whole


@contextmanager
def workers(commit: str) -> Iterator[tuple[Worker, Worker]]:
    """A worker process of another commit, and one of the current checkout."""
    with TemporaryDirectory() as folder:
        exported = Path(folder, "commit")
        exported.mkdir()
        archive = subprocess.run(["git", "archive", commit], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "x"], cwd=exported, input=archive, check=True)
        made = Worker(exported), Worker(ROOT)
        try:
            yield made
        finally:
            for worker in made:
                worker.process.kill()
                worker.process.wait()


def compare(commit: str, number: int, repeats: int, console: Console) -> None:
    """Print the table of workloads: programs per CPU second in the checkout and at a commit, and their ratio."""
    table = Table("workload", "programs/s", f"at {commit}", "times as fast", "spread", "drawing alone", box=None)
    with workers(commit) as (before, after):
        for name in WORKLOADS:
            for start in range(repeats):  # warm up: everything is compiled once
                before.measure(name, number, start), after.measure(name, number, start)
            pairs = [(before.measure(name, number, k), after.measure(name, number, k)) for k in range(repeats)]
            ratios = sorted(old[1] / new[1] for old, new in pairs)
            table.add_row(
                name,
                f"{number / statistics.median(new[1] for _, new in pairs):.0f}",
                f"{number / statistics.median(old[1] for old, _ in pairs):.0f}",
                f"{statistics.median(ratios):.2f}",
                f"{ratios[0]:.2f}-{ratios[-1]:.2f}",
                f"{statistics.median(old[0] / new[0] for old, new in pairs):.2f}",
            )
    console.print(table)
