"""`python -m autograd_conformance.campaigns.soak`: run after run, until so many programs were judged.

Every run is an ordinary run of the suites in a process of its own, with its own folder. What it came to is a line of
the run log: a soak that was interrupted goes on behind the last seed in it, and the log says which seeds, hence which
programs, were judged by which version of the suite. One log holds the soaks of several frameworks.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from autograd_conformance.places import ROOT
from autograd_conformance.reporting.records.records import Report
from autograd_conformance.reporting.records.stream import InvalidReport, read
from autograd_conformance.reporting.render.markdown import environment

RUN_LOG = "ledger.jsonl"
"""The run log in the folder of a soak, where no other file is given."""


UNUSABLE = 4
"""The exit code of a soak that cannot begin or go on: pytest's own for wrong usage."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a soak, as a line of the run log."""

    seed: int
    """Hypothesis's seed."""
    framework: str
    """The framework's name."""
    version: str
    """The framework's version."""
    profile: str
    """The profile that says how many programs each rule gets."""
    programs: int
    """How many programs were judged."""
    left_open: int
    """How many of them went on with something that the rules leave unspecified."""
    known: int
    """How many showed a known difference."""
    failures: tuple[str, ...]
    """Each failure: its rule, its test, and where its program is."""
    seconds: float
    """How long the run took."""
    complete: bool
    """Whether it came to its end, or to that of its budget."""
    commit: str
    """The suite's version, as its repository knows it."""
    options: tuple[str, ...] = ()
    """The options that it was given beside the seed; runs that have them in common are one soak."""
    ours: int = 0
    """How many of the failures turned out to be the suite's own fault: written by hand, by who looked into them."""


def run_log(path: Path) -> list[Run]:
    """The runs so far; ValueError names a line that is none."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines() if path.exists() else (), 1):
        try:
            form = json.loads(line)
            lists = {name: tuple(form.get(name, ())) for name in ("failures", "options")}
            found.append(Run(**{**form, **lists}))
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}, line {number} is no run of a soak: {error}") from None
    return found


def summed_up(report: Report, seed: int, commit: str, options: tuple[str, ...]) -> Run:
    """A run's line in the run log."""
    footer, framework = report.footer, report.header.framework
    return Run(
        seed=seed,
        framework=framework.name,
        version=framework.version,
        profile=report.header.profile,
        programs=report.programs,
        left_open=sum(result.left_open for result in report.results),
        known=sum(known.seen for known in report.known),
        failures=tuple(f"{failure.rule} in {failure.test}: {failure.replay}" for failure in report.failures),
        seconds=0.0 if footer is None else footer.seconds,
        complete=footer is not None and footer.verdict in ("complete", "cut short"),
        commit=commit,
        options=options,
    )


def soak(
    folder: Path, log: Path, framework: str, programs: int, first: int, workers: str, more: list[str]
) -> Iterator[Run]:
    """Run until the log counts so many programs of runs with these options; each run as it ends, in the standard
    profile unless `more` says it.

    OSError and `InvalidReport` say which run could not be had.
    """
    options = (f"--framework={framework}", "--hypothesis-profile=standard", *more)
    runs = run_log(log)
    total = sum(run.programs for run in runs if run.options == options)
    seed = max([first - 1, *(run.seed for run in runs)]) + 1  # no folder is of two runs
    while total < programs:
        where = folder / str(seed)
        command = [sys.executable, "-m", "pytest", "-n", workers, "-q", *options]
        command += [f"--hypothesis-seed={seed}", f"--report={where}"]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        (where / "output.txt").write_bytes(done.stdout) if where.exists() else None
        if not (where / "records.jsonl").exists():
            raise OSError(f"the run with seed {seed} left no records:\n{done.stdout.decode(errors='replace')[-2000:]}")
        run = summed_up(read(where / "records.jsonl"), seed, _commit(), options)
        if not run.programs:
            raise OSError(f"the run with seed {seed} judged no program; see {where / 'output.txt'}")
        with log.open("a", encoding="utf-8") as file:
            print(json.dumps(asdict(run)), file=file)
        yield run
        total, seed = total + run.programs, seed + 1


def _commit() -> str:
    """The suite's version, as its repository knows it; empty where there is none."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


COUNTED: dict[str, Callable[[Run], int]] = {
    "programs": lambda run: run.programs,
    "known": lambda run: run.known,
    "left_open": lambda run: run.left_open,
    "failures": lambda run: len(run.failures),
    "ours": lambda run: run.ours,
}
"""What is counted of each run, and summed over several."""


def shown(runs: list[Run]) -> Table:
    """The runs of a log as a table, with their sum."""
    sums = summed(runs)
    names = [name.replace("_", " ") for name in sums]
    table = Table("framework", "seed", "suite", *names, "programs/s", box=None, highlight=False)
    for run in runs:
        rate = run.programs / run.seconds if run.seconds else 0.0
        table.add_row(
            run.framework,
            str(run.seed),
            run.commit,
            *(_number(count(run)) for count in COUNTED.values()),
            _number(rate),
        )
    table.add_section()
    table.add_row(f"{len(runs)} runs", "", "", *map(_number, sums.values()), "")
    return table


def summed(runs: list[Run]) -> dict[str, int]:
    """What several runs come to."""
    return {name: sum(map(count, runs)) for name, count in COUNTED.items()}


def _number(n: float) -> str:
    return f"{n:,.0f}"


def page(runs: list[Run]) -> str:
    """The runs of a log as a page, in GitHub's Markdown, ending in a line end."""
    by_framework: dict[str, list[Run]] = {}
    for run in runs:
        by_framework.setdefault(f"{run.framework} {run.version}", []).append(run)
    ordered = sorted(by_framework.items(), key=lambda each: each[0].lower())
    text = (
        environment()
        .get_template("soak.md.j2")
        .render(
            frameworks=[(name, each, summed(each)) for name, each in ordered],
            runs=[run for _, each in ordered for run in each],
            failed=sum(bool(run.failures) for run in runs),
            failures=[f"seed {run.seed}: {failure}" for run in runs for failure in run.failures],
            total=summed(runs),
            number=_number,
            joined=shlex.join,
        )
    )
    return text.rstrip() + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Soak; 0 where no run broke a rule, 1 where one did, 4 where a run could not be had, 130 where it was stopped."""
    parser = argparse.ArgumentParser(
        prog="python -m autograd_conformance.campaigns.soak", description=__doc__.partition("\n\n")[0]
    )
    parser.add_argument("--framework", default="torch")
    parser.add_argument(
        "--programs", type=int, default=1_000_000, help="how many to judge in all (default: a million; 0 for the page)"
    )
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--workers", default="auto", help="as for pytest -n")
    parser.add_argument("--folder", type=Path, default=Path("soak"), help="where the run log and the reports go")
    parser.add_argument("--log", type=Path, help=f"the run log (default: {RUN_LOG} in that folder)")
    parser.add_argument("--page", type=Path, help="write the whole run log to this file, as Markdown, too")
    parser.add_argument("more", nargs="*", help="further options and paths for pytest, after a double dash")
    given = parser.parse_args(arguments)
    if given.page and not given.page.parent.is_dir():  # said before the soak, not after it
        parser.error(f"--page: there is no folder {given.page.parent}")
    console = Console(highlight=False)
    given.folder.mkdir(parents=True, exist_ok=True)
    log = given.log or given.folder / RUN_LOG
    asked = given.folder.resolve(), log, given.framework, given.programs, given.first_seed, given.workers, given.more
    code = 0
    try:
        for run in soak(*asked):
            console.print(
                f"seed {run.seed}: {run.programs:,} programs, {len(run.failures)} failures, {run.seconds:,.0f} s"
            )
            for failure in run.failures:
                console.print(f"  {failure}", markup=False, soft_wrap=True)
        runs = run_log(log)
    except KeyboardInterrupt:
        code, runs = 130, run_log(log)
        console.print("stopped; the same command goes on from here")
    except (OSError, ValueError, InvalidReport) as error:
        console.print(str(error), markup=False, style="red", soft_wrap=True)
        return UNUSABLE
    console.print(shown(runs))
    if given.page:
        given.page.write_text(page(runs), encoding="utf-8")
    return code or int(any(run.failures for run in runs))


if __name__ == "__main__":
    sys.exit(main())
