"""Runs that are killed at random times: the records written before are complete, and the next run in the folder starts
clean.

`python -m tests.plugin.kills --count 50 --seed 1` kills a worker, the controlling process, or the process that watches
it, by SIGKILL or SIGTERM, at a random time during the run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from tests.plugin.test_cli import ONE, ROOT, command

SUITES = ("suites/test_lifetime.py", "suites/test_accumulation.py")

Who = Literal["worker", "controller", "watcher"]
WHO: tuple[Who, ...] = ("worker", "controller", "watcher")
STOPS = (signal.SIGKILL, signal.SIGTERM)


@dataclass(frozen=True)
class Killed:
    """A killed run."""

    who: Who
    """The process that was killed."""
    stop: signal.Signals
    """The signal."""
    after: float
    """Seconds from the start of the run; 0 if the run had ended before."""
    code: int
    """Exit code of the run."""
    lines: int
    """Number of records written before."""
    problem: str | None
    """An unexpected result; None if all is well."""


def killed(who: Who, stop: signal.Signals, after: float, folder: Path) -> Killed:
    """Kills a process of a run, and checks its report and the next run in its folder."""
    words, environment = command(folder, *SUITES, "-n", "2")
    with (folder / "output").open("w") as output:
        process = subprocess.Popen(
            words, cwd=ROOT, env=environment, stdout=output, stderr=output, start_new_session=True
        )
        time.sleep(after)
        hit = _hit(process.pid, who)
        before = _lines(folder)
        if hit is None or process.poll() is not None:
            after = 0.0
        else:
            os.kill(hit, stop)
        code = process.wait(120)
        _gone(process.pid)
    return Killed(who, stop, after, code, len(before), _problem(who, after, code, before, folder))


def _problem(who: Who, after: float, code: int, before: list[str], folder: Path) -> str | None:
    left = _lines(folder)
    if left[: len(before)] != before:
        return "a record that had been written is lost"
    for number, line in enumerate(left, start=1):
        try:
            json.loads(line)
        except json.JSONDecodeError:
            return f"line {number} of the records is not whole"
    if after and who != "worker" and code == 0:
        return "a run that was cut short is green"
    words, environment = command(folder, ONE, "-n", "1")
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=200)
    if done.returncode:
        return f"the next run in the folder ends with {done.returncode}: {done.stdout[-300:]}{done.stderr[-300:]}"
    if list(folder.glob("journal-*")):
        return "the next run leaves journals"
    return None


def _lines(folder: Path) -> list[str]:
    """The complete records."""
    records = folder / "records.jsonl"
    return records.read_text().split("\n")[:-1] if records.exists() else []


def _children(process: int) -> Iterator[int]:
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        yield from map(int, task.read_text().split())


def _hit(watcher: int, who: Who) -> int | None:
    """The process to kill, if it runs."""
    if who == "watcher":
        return watcher
    controller = next(iter(_children(watcher)), None)
    if who == "controller" or controller is None:
        return controller
    return next(
        (each for each in _children(controller) if "execnet" in _command(each) or "exec(eval" in _command(each)), None
    )


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def _gone(session: int) -> None:
    """Waits until every process of the run has ended."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if not any(_session(int(each.name)) == session for each in Path("/proc").iterdir() if each.name.isdigit()):
            return
        time.sleep(0.1)


def _session(process: int) -> int:
    try:
        return os.getsid(process)
    except ProcessLookupError:
        return -1


def main() -> int:
    """Kills as many runs as the options say; returns 1 after an unexpected result."""
    parser = argparse.ArgumentParser(prog="python -m tests.plugin.kills", description=__doc__)
    parser.add_argument("--count", type=int, default=50, metavar="N", help="how many (default: 50)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the moments (default: 1)")
    parser.add_argument("--longest", type=float, default=20.0, metavar="S", help="the latest moment (default: 20 s)")
    options = parser.parse_args()
    draw, bad = random.Random(options.seed), 0
    for number in range(options.count):
        with TemporaryDirectory() as folder:
            found = killed(WHO[number % 3], STOPS[number // 3 % 2], draw.uniform(0, options.longest), Path(folder))
        bad += found.problem is not None
        print(
            f"{number + 1:3} {found.who:10} {found.stop.name} after {found.after:4.1f} s: exit code {found.code}, "
            f"{found.lines} records before; {found.problem or 'as it has to be'}",
            flush=True,
        )
    print(f"{options.count} kills, {bad} not as they have to be")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
