"""`python -m evaluation.benchmarks`: measures programs per second on one warm core, and the share of each stage.

With `--memory`, measures the memory of the process after each thousand programs.

Each program is drawn by Hypothesis, run on PyTorch and judged, exactly as in the suites. Each stage is timed
separately; Hypothesis' own time between two programs counts as drawing. Repeated measurements show the machine's
noise.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.table import Table

from autograd_conformance.checking.audit.programs import audit
from autograd_conformance.checking.seeding import BACKEND
from autograd_conformance.checking.session import FrameworkUnderTest, Settings
from autograd_conformance.programs.language import ACTIONS, Apply, Backward
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.judge.judge import judge
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.random_programs import programs
from autograd_conformance.strategies.sequences import sequences
from autograd_conformance.strategies.situations import accumulation, detach, gradients, lifetime
from autograd_conformance.strategies.training import loops
from evaluation.benchmarks import baseline
from evaluation.benchmarks.commits import compare
from evaluation.benchmarks.memory import memory
from evaluation.benchmarks.suites import suite_speeds

ROOT = Path(__file__).resolve().parents[2]

WORKLOADS = {
    "programs (about 10 ops, 4 calls)": programs,
    "whole graphs": gradients.whole_graphs,
    "accumulations": accumulation.accumulations,
    "retained": lifetime.retained,
    "backward twice": lifetime.backward_twice,
    "detached operands": detach.detached_operands,
    "sequences of everything": sequences,
    "training loops": loops,
}


def measure(
    framework: FrameworkUnderTest, strategy: st.SearchStrategy[Drawn], number: int, start: int
) -> tuple[float, Counter[str]]:
    """Seconds for `number` programs; the seconds of each stage, and counts of programs, ops and calls."""
    spent: Counter[str] = Counter()
    last = time.perf_counter()

    @seed(start)
    @settings(
        max_examples=number,
        backend=BACKEND,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def body(case: Drawn) -> None:
        nonlocal last
        program = case.program
        drawn = time.perf_counter()
        observation = framework.target.observe(program)
        ran = time.perf_counter()
        reference = (
            Reference() if program.stateful else case.reference
        )  # the same reference as in the check of a program
        for step in () if program.stateful else program:
            if isinstance(step, Backward) and all(
                c is None or c.shape == reference.values[r].shape
                for r, c in zip(step.roots, step.cotangents, strict=True)
            ):
                reference.pullbacks.of(step)
        referred = time.perf_counter()
        judge(program, observation, reference, framework.target.capabilities)
        judged = time.perf_counter()
        spent.update(drawing=drawn - last, framework=ran - drawn, reference=referred - ran, judging=judged - referred)
        spent.update(
            programs=1,
            ops=sum(isinstance(s, Apply) for s in program),
            calls=sum(isinstance(s, ACTIONS) for s in program),
        )
        last = time.perf_counter()

    began = time.perf_counter()
    body()
    return time.perf_counter() - began, spent


def speeds(framework: FrameworkUnderTest, number: int, repeats: int, console: Console) -> dict[str, float]:
    """Print the table of workloads and return its rates; `overhead` is the total time divided by that of drawing and
    running.
    """
    parts = ("drawing", "framework", "reference", "judging")
    table = Table("workload", "programs/s", "spread", "x base", "ops", "calls", *parts, "overhead", box=None)
    base, figures = baseline.read(), {}
    for name, strategy in WORKLOADS.items():
        for k in range(repeats):  # warm up: everything is compiled once
            measure(framework, strategy(), number, k)
        runs = [measure(framework, strategy(), number, k) for k in range(repeats)]
        rates = sorted(spent["programs"] / seconds for seconds, spent in runs)
        total: Counter[str] = sum((spent for _, spent in runs), Counter())
        split = [total[part] for part in parts]
        figures[name] = statistics.median(rates)
        table.add_row(
            name,
            f"{statistics.median(rates):.0f}",
            f"{rates[0]:.0f}-{rates[-1]:.0f}",
            baseline.ratio(name, figures[name], base),
            f"{total['ops'] / total['programs']:.1f}",
            f"{total['calls'] / total['programs']:.1f}",
            *(f"{part / sum(split):.0%}" for part in split),
            f"{sum(split) / sum(split[:2]):.2f}",
        )
    console.print(table)
    return figures


def by_suite(framework: FrameworkUnderTest, examples: int, repeats: int, console: Console) -> dict[str, float]:
    """Print the table of suites and return its rates; a first round, which compiles the reference, is not counted."""
    base, figures = baseline.read(), {}
    runs = [dict(suite_speeds(framework, examples, 7)) for _ in range(repeats + 1)][1:]
    table = Table("suite", "programs/s", "spread", "x base", "programs", "in checks", box=None)
    for suite in runs[0]:
        rates = sorted(run[suite].rate for run in runs)
        figures[f"suite {suite}"] = rate = statistics.median(rates)
        checking = sum(run[suite].checking for run in runs) / sum(run[suite].seconds for run in runs)
        spread, count = f"{rates[0]:.0f}-{rates[-1]:.0f}", str(runs[0][suite].programs)
        table.add_row(
            suite, f"{rate:.0f}", spread, baseline.ratio(f"suite {suite}", rate, base), count, f"{checking:.0%}"
        )
    console.print(table)
    return figures


def growing(framework: FrameworkUnderTest, thousands: int, console: Console) -> dict[str, float]:
    """Print the process's memory after each thousand different programs of all workloads, and return its growth."""
    base, found = baseline.read(), []
    for k in range(thousands):
        for strategy in WORKLOADS.values():
            measure(framework, strategy(), 1000 // len(WORKLOADS), 1_000 + k)
        found.append(memory())
        console.print(f"{k + 1},000 programs: {found[-1].resident:.0f} MB, {found[-1].private:.0f} of it private")
    grown = (found[-1].resident - found[0].resident) / max(1, thousands - 1)
    figures = {"MB after a thousand programs": found[0].resident, "MB more for each thousand": grown}
    for name, figure in figures.items():
        console.print(f"{name}: {figure:.1f} (x base {baseline.ratio(name, figure, base)})")
    return figures


def starting(console: Console) -> dict[str, float]:
    """Measure the seconds of collecting the tests, and of a run of one test, which includes the audit of the ops."""
    base, figures = baseline.read(), {}
    collecting = ["--collect-only", "suites"]
    one = [
        "-n",
        "0",
        "--hypothesis-profile",
        "quick",
        "--report=.cache/benchmark",
        "suites/test_detach.py",
        "-k",
        "test_values",
    ]
    for name, options in (("seconds to collect", collecting), ("seconds to a run of one test", one)):
        took = []
        for _ in range(3):
            began = time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "pytest", "-q", *options], cwd=ROOT, check=True, stdout=subprocess.DEVNULL
            )
            took.append(time.perf_counter() - began)
        figures[name] = statistics.median(took)
        console.print(f"{name}: {figures[name]:.1f} (x base {baseline.ratio(name, figures[name], base)})")
    return figures


def scaling(console: Console) -> dict[str, float]:
    """Measure two suites with the standard profile, in one process and with two workers."""
    seconds = {}
    for workers in (0, 2):
        slice_ = ["suites/test_lifetime.py", "suites/test_accumulation.py"]
        options = ["-q", "-n", str(workers), "--hypothesis-seed=1", "--report=.cache/benchmark"]
        options.append("--hypothesis-profile=standard")
        command = [sys.executable, "-m", "pytest", *options, *slice_]
        began = time.perf_counter()
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        seconds[workers] = time.perf_counter() - began
    console.print(
        f"lifetime and accumulation, standard profile: {seconds[0]:.1f} s in one process, {seconds[2]:.1f} s "
        f"with -n 2, "
        f"{seconds[0] / seconds[2]:.2f} times as fast"
    )
    return {"two workers against one": seconds[0] / seconds[2]}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m evaluation.benchmarks", description=__doc__)
    parser.add_argument("--programs", type=int, default=2000, help="programs per measurement (default: 2000)")
    parser.add_argument("--repeats", type=int, default=3, help="measurements per workload (default: 3)")
    parser.add_argument("--suites", type=int, default=0, metavar="N", help="also every suite, N programs a test")
    parser.add_argument("--memory", type=int, default=0, metavar="N", help="only the memory, over N thousand programs")
    parser.add_argument("--scaling", action="store_true", help="also start-up, and -n 0 against -n 2")
    parser.add_argument("--save", action="store_true", help="save the measurements as the base line")
    parser.add_argument(
        "--against", metavar="COMMIT", help="only compare the speed of the checkout with that of a commit"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # PyTorch's warnings about drawn programs do not matter for speed
    console = Console(width=130)
    if options.against:
        compare(options.against, options.programs, options.repeats, console)
        return
    framework = FrameworkUnderTest(Settings("torch"))
    framework.adopt_audit(audit(framework.target, framework.drawable, thrice=False))
    framework.prepare()
    if options.memory:
        figures = growing(framework, options.memory, console)
    else:
        figures = speeds(framework, options.programs, options.repeats, console)
    if options.suites:
        figures |= by_suite(framework, options.suites, options.repeats, console)
    if options.scaling:
        figures |= starting(console) | scaling(console)
    if options.save:
        baseline.save(baseline.read() | figures)


if __name__ == "__main__":
    main()
