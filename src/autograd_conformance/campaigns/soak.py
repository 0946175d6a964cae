"""`python -m autograd_conformance.campaigns.soak`: run after run, until a number of programs was judged.

Each run is an ordinary run of the suites, in a separate process with its own folder and seed. Its result is a line of
the run log. An interrupted soak continues after the last seed in the log. The log records which seeds, and therefore
which programs, were judged by which version of the suite. One log may contain the soaks of several frameworks.
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

from autograd_conformance.package.places import ROOT
from autograd_conformance.reporting.records.records import Report
from autograd_conformance.reporting.records.stream import InvalidReport, read
from autograd_conformance.reporting.render.markdown import environment

RUN_LOG = "ledger.jsonl"
"""The default name of the run log, a file of JSON lines in the folder of a soak."""


UNUSABLE = 4
"""The exit code of a soak that cannot start or continue: pytest's code for wrong usage."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a soak, as a line of the run log."""

    seed: int
    """The seed of Hypothesis."""
    framework: str
    """The framework's name."""
    version: str
    """The framework's version."""
    profile: str
    """The Hypothesis profile, which sets the number of programs of each test."""
    programs: int
    """Number of judged programs."""
    left_open: int
    """Number of programs in which the rules left some outcome unspecified, so that judging ended there or continued
    from the observed state."""
    known: int
    """Number of programs that showed a known difference of the framework."""
    failures: tuple[str, ...]
    """The rule, the test and the replay file of each failure."""
    seconds: float
    """Duration of the run in seconds."""
    complete: bool
    """True if the run ended normally or at the end of its budget."""
    commit: str
    """The version of the suite, from `git describe`."""
    options: tuple[str, ...] = ()
    """The options of the run besides the seed. Runs with equal options belong to one soak."""
    ours: int = 0
    """Number of failures that turned out to be faults of the suite. It is entered by hand after an investigation."""


def run_log(path: Path) -> list[Run]:
    """Reads the runs in a log. Raises ValueError with the number of a line that is not a run."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines() if path.exists() else (), 1):
        try:
            form = json.loads(line)
            lists = {name: tuple(form.get(name, ())) for name in ("failures", "options")}
            found.append(Run(**{**form, **lists}))
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}, line {number} is not a run of a soak: {error}") from None
    return found


def summed_up(report: Report, seed: int, commit: str, options: tuple[str, ...]) -> Run:
    """Makes the line of the run log for a run, from its report."""
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
    """Runs the suites with one seed after another, until the runs in the log with these options have judged `programs`
    programs; yields each run. The profile is `standard`, unless `more` sets another.

    Raises OSError or `InvalidReport` if a run left no usable records.
    """
    options = (f"--framework={framework}", "--hypothesis-profile=standard", *more)
    runs = run_log(log)
    total = sum(run.programs for run in runs if run.options == options)
    seed = max([first - 1, *(run.seed for run in runs)]) + 1  # each run has its own folder
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
    """Returns the version of the suite from `git describe`; empty outside a repository."""
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
"""For each number that is added up over runs, its name and the function that gets it from a run."""


def shown(runs: list[Run]) -> Table:
    """Returns a table for the terminal with a row for each run of a log and a row of totals."""
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
    """Returns the totals of several runs, by the names in `COUNTED`."""
    return {name: sum(map(count, runs)) for name, count in COUNTED.items()}


def _number(n: float) -> str:
    return f"{n:,.0f}"


def page(runs: list[Run]) -> str:
    """Returns a page in GitHub's Markdown about all runs of a log, grouped by framework and version; it ends in a line
    end.
    """
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m autograd_conformance.campaigns.soak", description=__doc__.partition("\n\n")[0]
    )
    parser.add_argument("--framework", default="torch")
    parser.add_argument(
        "--programs",
        type=int,
        default=1_000_000,
        help="total number of programs to judge (default: a million; 0: only write the page)",
    )
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--workers", default="auto", help="as for pytest -n")
    parser.add_argument("--folder", type=Path, default=Path("soak"), help="the folder of the run log and the reports")
    parser.add_argument("--log", type=Path, help=f"the run log (default: {RUN_LOG} in that folder)")
    parser.add_argument("--page", type=Path, help="write the whole run log to this file, as Markdown, too")
    parser.add_argument("more", nargs="*", help="further options and paths for pytest, after a double dash")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Runs a soak. Returns 0 if no run broke a rule, 1 if one did, 4 if a run left no usable records or the run log is
    invalid, 130 if the soak was interrupted.
    """
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.page and not given.page.parent.is_dir():  # reported before the soak, not after it
        parser.error(f"--page: there is no folder {given.page.parent}")
    console = Console(highlight=False)
    given.folder.mkdir(parents=True, exist_ok=True)
    log = given.log or given.folder / RUN_LOG
    soak_arguments = (
        given.folder.resolve(),
        log,
        given.framework,
        given.programs,
        given.first_seed,
        given.workers,
        given.more,
    )
    code = 0
    try:
        for run in soak(*soak_arguments):
            console.print(
                f"seed {run.seed}: {run.programs:,} programs, {len(run.failures)} failures, {run.seconds:,.0f} s"
            )
            for failure in run.failures:
                console.print(f"  {failure}", markup=False, soft_wrap=True)
        runs = run_log(log)
    except KeyboardInterrupt:
        code, runs = 130, run_log(log)
        console.print("stopped; to continue, run the same command again")
    except (OSError, ValueError, InvalidReport) as error:
        console.print(str(error), markup=False, style="red", soft_wrap=True)
        return UNUSABLE
    console.print(shown(runs))
    if given.page:
        given.page.write_text(page(runs), encoding="utf-8")
    return code or int(any(run.failures for run in runs))


if __name__ == "__main__":
    sys.exit(main())
