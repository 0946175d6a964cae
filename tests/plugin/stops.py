"""Runs with many failures that are stopped at random times: the time until they end, and their reports.

`python -m tests.plugin.stops --count 10 --seed 1` stops runs at random times.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from autograd_conformance.processes.timeouts import scaled_timeout
from autograd_conformance.reporting.records.records import Footer
from autograd_conformance.reporting.records.stream import load
from tests.plugin.test_cli import ROOT, command

FAULTY = "tests.frameworks.adapters.faulty:Faulty"
SOON = 2.0
"""Seconds within which a run ends, on an idle machine."""


@dataclass(frozen=True)
class Stopped:
    """A run that was stopped."""

    code: int
    """Its exit code."""
    took: float
    """Seconds from the signal to its end."""
    allowed: float
    """Allowed seconds, scaled with the load."""
    output: str
    """Its output."""
    begun: bool
    """Whether its report was begun before the signal."""
    footer: Footer | None
    """Its last record."""
    page: bool
    """Whether there is a page."""
    left: bool
    """Whether a process of its group still runs."""

    @property
    def problem(self) -> str | None:
        """An unexpected result; None if all is well."""
        if self.left:
            return "a process is left"
        if self.took > self.allowed:
            return f"it took {self.took:.1f} s, and {self.allowed:.1f} s are allowed"
        if not self.begun:  # modules may be being imported still
            return None
        if "Traceback" in self.output or "INTERNALERROR" in self.output:
            return "a traceback"
        if self.footer is None or not self.page:
            return "no end of the records, or no page"
        if self.code != self.footer.exit_code:
            return f"exit code {self.code}, and the records say {self.footer.exit_code}"
        if self.footer.verdict == "interrupted" and (self.code != 2 or "INTERRUPTED" not in self.output):
            return f"exit code {self.code}, or no summary"
        return None


def stopped(
    folder: Path, when: float | Path, signals: Sequence[int], *arguments: str, framework: str = FAULTY, gap: float = 0.1
) -> Stopped:
    """Stops a run after some seconds, or as soon as a file exists, with several signals in short succession."""
    words, environment = command(folder, *arguments, framework=framework)
    with (folder.parent / f"{folder.name}.out").open("w+") as output:
        process = subprocess.Popen(
            words, cwd=ROOT, env=environment, stdout=output, stderr=output, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )  # fmt: skip
        _wait(when, process)
        begun, began = (folder / "records.jsonl").exists(), time.monotonic()
        for number in signals:
            process.send_signal(number)
            time.sleep(gap)
        code = process.wait(120)
        took, allowed = time.monotonic() - began, scaled_timeout(SOON) + len(signals) * gap
        time.sleep(0.2)
        left = _is_left(folder)
        output.seek(0)
        text = output.read()
    footer = load(folder / "records.jsonl", allow_truncated=True).footer if begun else None
    return Stopped(code, took, allowed, text, begun, footer, (folder / "report.md").exists(), left)


def _wait(when: float | Path, process: subprocess.Popen[bytes]) -> None:
    if isinstance(when, float):
        time.sleep(when)
        return
    deadline = time.monotonic() + 100
    while not list(when.parent.glob(when.name)) and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)


def _is_left(folder: Path) -> bool:
    """Whether a process still runs whose command line names the folder, or a child of one."""
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() in line.read_bytes() and int(line.parent.name) != os.getpid():
                return True
        except OSError:
            continue
    return False


def main(arguments: Sequence[str]) -> int:
    """Stops some runs at random times, and prints unexpected results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--longest", type=float, default=60.0)
    given = parser.parse_args(arguments)
    draw, wrong = random.Random(given.seed), 0
    for number in range(given.count):
        with TemporaryDirectory() as folder:
            signals = draw.choice([[signal.SIGINT], [signal.SIGTERM], [signal.SIGINT] * 2, [signal.SIGTERM] * 3])
            after, workers = draw.uniform(3, given.longest), draw.choice(["0", "2", "2"])
            path = Path(folder) / "report"
            path.mkdir()
            seen = stopped(path, after, signals, "-n", workers, "--confirm=20")
            problem = seen.problem
            wrong += problem is not None
            names = "+".join(signal.Signals(each).name for each in signals)
            print(
                f"{number}: {names} after {after:.1f} s, -n {workers}: {seen.took:.2f} s of {seen.allowed:.1f}, ",
                end="",
            )
            print(f"code {seen.code}, {'begun' if seen.begun else 'not begun'}: {problem or 'right'}", flush=True)
            if problem:
                print(seen.output[-3000:])
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
