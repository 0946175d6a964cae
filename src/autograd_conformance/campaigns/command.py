"""``autograd-conformance campaign PLAN.toml``: many runs, on the processes of this machine or of a cluster."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from autograd_conformance import sources
from autograd_conformance.campaigns.bisect.plan import SEARCH, SearchPlan, search_plan
from autograd_conformance.campaigns.cluster.waiting import MINUTES, NoWorkers, Waiting
from autograd_conformance.campaigns.plans.plan import Plan
from autograd_conformance.campaigns.plans.plan import plan as run_plan
from autograd_conformance.campaigns.plans.table import MalformedPlan, held
from autograd_conformance.checking.session import REPORT_ERROR
from autograd_conformance.plugin.recording.folder import ReportFolder, UnusableFolder
from autograd_conformance.plugin.recording.terminal import WIDTH
from autograd_conformance.processes.termination import Termination
from autograd_conformance.reporting.analysis.causes import causes
from autograd_conformance.reporting.command import USAGE, Parser
from autograd_conformance.reporting.prose import counted, printable
from autograd_conformance.reporting.render.failures import SHOWN_IN_FULL, print_failures
from autograd_conformance.reporting.render.terminal import print_summary
from autograd_conformance.reporting.site.build import FolderInUse as NotOurSite

if TYPE_CHECKING:
    from autograd_conformance.campaigns.cluster.engine import Engine
    from autograd_conformance.campaigns.execution.campaign import Campaign
    from autograd_conformance.campaigns.storage.storage import Storage

BROKEN, INTERRUPTED, NOT_HAD = 1, 2, 3
"""The exit codes of a campaign: a MUST rule is broken; it was stopped; shards could not be had."""

EXTRA = "campaigns need Dask and fsspec: pip install 'autograd-conformance[campaign]'"


def main(arguments: Sequence[str] | None = None, program: str = "autograd-conformance campaign") -> int:
    """Run a campaign, or go on with it; its exit code."""
    options = _parser(program).parse_args(arguments)
    try:
        plan = planned(options.plan)
        resources = _resources(options.resources)
        _check(plan, options, resources)
    except MalformedPlan as error:
        return _refused(str(error), USAGE)
    if options.check:
        print(_told(plan) if isinstance(plan, Plan) else plan)
        return 0
    try:
        from autograd_conformance.campaigns.cluster.engine import NoCluster
        from autograd_conformance.campaigns.ownership import NotOurs
        from autograd_conformance.campaigns.storage.storage import StorageError
    except ModuleNotFoundError as error:
        return _refused(f"{EXTRA} ({error})", USAGE)
    termination = Termination(controls=True)
    try:
        held = ReportFolder(options.report)
        try:
            return _run(plan, options, resources, termination)
        finally:
            held.release()
    except (NotOurs, NotOurSite, UnusableFolder, NoCluster) as error:
        return _refused(str(error), USAGE)
    except (StorageError, OSError) as error:
        return _refused(str(error), REPORT_ERROR)
    except KeyboardInterrupt:
        return _refused("stopped", INTERRUPTED)
    finally:
        termination.restore()


def planned(path: Path) -> Plan | SearchPlan:
    """The plan in a file, of runs or of searches; `MalformedPlan` says what is wrong in it."""
    form = held(path)
    return search_plan(form, path) if SEARCH in form else run_plan(form, path)


def _run(
    plan: Plan | SearchPlan, options: argparse.Namespace, resources: Mapping[str, float], termination: Termination
) -> int:
    from autograd_conformance.campaigns.ownership import claim
    from autograd_conformance.campaigns.storage.storage import Storage

    console = Console()
    console.width = max(WIDTH, console.width)
    storage = Storage(options.storage or plan.storage or "", plan.options)
    claim(storage, plan.series if isinstance(plan, Plan) else ())
    if isinstance(plan, SearchPlan):
        return _searched(plan, storage, options, resources, console, termination)
    return _campaigned(plan, storage, options, resources, console, termination)


def _campaigned(
    plan: Plan, storage: Storage, options: argparse.Namespace, resources: Mapping[str, float], console: Console,
    termination: Termination,
) -> int:  # fmt: skip
    from autograd_conformance.campaigns.execution.campaign import Campaign

    campaign = Campaign(plan, storage, sources.suite(), Waiting(60 * options.wait))
    with console.status("Reading what is kept") as status:
        for shards in campaign.take_up():
            status.update(f"Reading what is kept: {counted(shards, 'shard')}")
    if campaign.sums:
        shards = sum(len(row.done) for row in campaign.rows)
        console.print(f"{counted(shards, 'shard')} of this campaign were there already", highlight=False)
    code = _worked(lambda engine: _go_on(campaign, engine, console), options, resources, console, termination)
    return _finished(campaign, options.report, console, code)


def _searched(
    plan: SearchPlan, storage: Storage, options: argparse.Namespace, resources: Mapping[str, float], console: Console,
    termination: Termination,
) -> int:  # fmt: skip
    from autograd_conformance.campaigns.bisect import planned as command
    from autograd_conformance.campaigns.bisect.searches import Searches

    searches = Searches(plan, storage, sources.suite(), Waiting(60 * options.wait))
    there = searches.take_up()
    if there:
        console.print(f"{counted(there, 'verdict')} of this plan were there already", highlight=False)
    code = 0
    if searches.missing:
        code = _worked(
            lambda engine: command.go_on(searches, engine, console), options, resources, console, termination
        )
    is_told = command.finished(searches, options.report, console)
    return code or (0 if is_told else NOT_HAD)


def _worked(
    work: Callable[[Engine], None], options: argparse.Namespace, resources: Mapping[str, float], console: Console,
    termination: Termination,
) -> int:  # fmt: skip
    """Do what there is to do on a cluster; the exit code of what stopped it, if anything did."""
    from autograd_conformance.campaigns.cluster.engine import NoCluster, local, remote
    from autograd_conformance.campaigns.storage.storage import StorageError

    cluster: AbstractContextManager[Engine]
    if options.scheduler:
        cluster = remote(options.scheduler)
    else:
        cluster = local(options.workers or os.cpu_count() or 1, resources, options.dashboard)
    code, stopped = 0, ""
    try:
        with cluster as engine:
            work(engine)
    except KeyboardInterrupt:
        termination.heard.set()
        code, stopped = INTERRUPTED, "stopped"
    except NoCluster as error:
        code, stopped = INTERRUPTED, str(error)
    except NoWorkers as error:
        code, stopped = NOT_HAD, str(error)
    except StorageError as error:
        code, stopped = REPORT_ERROR, str(error)
    if stopped:
        console.print(
            f"{printable(stopped)}; the same command goes on from here", style="red", markup=False, soft_wrap=True
        )
    return code


def _go_on(campaign: Campaign, engine: Engine, console: Console) -> None:
    from autograd_conformance.campaigns.execution.view import View

    view = View(campaign, engine, console)
    with view.shown():
        for event in campaign.go_on(engine):
            view.tell(event)


def _finished(campaign: Campaign, folder: Path, console: Console, code: int) -> int:
    """Write the reports, and print the end of each as of a run."""
    from autograd_conformance.campaigns.execution.results import PAGE, SITE, write_results

    results = write_results(campaign, folder)
    for result in results:
        print_failures(causes(result.report), console)
        print_summary(result.report, console, result.folder / "report.md", above=SHOWN_IN_FULL)
    for row in campaign.rows:
        for seed, said in row.given_up.items():
            console.print(f"{row.series.title}, seed {seed}: {said}", style="red", markup=False, soft_wrap=True)
    if results:
        console.print(f"page    {folder / PAGE}\nsite    {folder / SITE / 'index.html'}", markup=False, highlight=False)
    if code:
        return code
    if any(failure.level == "MUST" for result in results for failure in result.report.failures):
        return BROKEN
    return NOT_HAD if any(row.given_up for row in campaign.rows) else 0


def _check(plan: Plan | SearchPlan, options: argparse.Namespace, resources: Mapping[str, float]) -> None:
    """Refuse a plan that cannot be carried out with these options."""
    if not (options.storage or plan.storage):
        raise MalformedPlan(f"{options.plan}: there is no storage; name one there, or with --storage=URL")
    if options.scheduler:
        if options.workers or resources or options.dashboard:
            raise MalformedPlan("--workers, --resources and --dashboard are about the local cluster, not --scheduler's")
        return
    for each in plan.series if isinstance(plan, Plan) else plan.steps:
        for name, amount in each.resources.items():
            if resources.get(name, 0) < amount:
                raise MalformedPlan(
                    f"{each.title} needs {name}={amount:g}, and workers here offer "
                    f"{resources.get(name, 0):g}: say --resources={name}={amount:g}"
                )


def _resources(words: Sequence[str]) -> dict[str, float]:
    found = {}
    for word in words:
        name, equals, amount = word.partition("=")
        try:
            found[name] = float(amount) if equals else 1.0
        except ValueError:
            raise MalformedPlan(f"--resources={word}: {amount!r} is no number") from None
    return found


def minutes(word: str) -> float:
    """A time of the command line, in whose complaint this function's name stands."""
    found = float(word)
    if not found >= 0:
        raise ValueError(f"{word} is no time")
    return found


def _told(plan: Plan) -> str:
    """A plan in words, a line for each series."""
    amount = plan.amount
    if amount.hours is not None:
        much = f"{amount.hours:g} hour{'' if amount.hours == 1 else 's'}"
    else:
        much = f"{amount.programs:,} programs" if amount.last is None else f"seeds {amount.first:,} to {amount.last:,}"
        much = f"{much} each"
    lines = [f"{len(plan.series):,} series, {much}"]
    for series in plan.series:
        needs = ", ".join(f"{name}={value:g}" for name, value in series.resources.items())
        lines.append(f"  {series.title}: {series.programs:,} programs a shard" + (f", needs {needs}" if needs else ""))
    return "\n".join(lines)


def _refused(said: str, code: int) -> int:
    print(f"campaign: {printable(said)}", file=sys.stderr)
    return code


def _parser(program: str) -> argparse.ArgumentParser:
    parser = Parser(
        program,
        description="Run a campaign: many runs, each a shard of its own, whose records are kept where the plan says. "
        "What is kept is not run again: the same command goes on from where it was interrupted. A plan may also say in "
        "which versions of a framework findings are looked for.",
        epilog="Exit codes: 0: no MUST rule is broken. 1: some are. 2: it was stopped, or lost its scheduler. 3: some "
        "shards could not be had, or no worker came that could run them, or of some findings it cannot be told when "
        "they began. 4: wrong usage, or the storage holds another campaign. 11: the storage, or the report, could not "
        "be written.",
    )
    parser.add_argument("plan", metavar="PLAN", type=Path, help="the plan, a TOML file (docs/campaigns.md)")
    parser.add_argument("--storage", metavar="URL", help="where records are kept, instead of the plan's")
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="a Dask scheduler, or its file (default: a cluster of this machine)"
    )
    parser.add_argument("--workers", metavar="N", type=int, help="processes of this machine (default: one a core)")
    parser.add_argument(
        "--resources", metavar="NAME=N", action="append", default=[], help="what each process of this machine offers"
    )
    parser.add_argument(
        "--wait",
        metavar="MINUTES",
        type=minutes,
        default=MINUTES,
        help="how long to wait for workers where none that is there can run anything of what is left "
        f"(default: {MINUTES:g}; inf: for ever)",
    )
    parser.add_argument("--dashboard", metavar="ADDRESS", help="where Dask's dashboard of this machine is, as :8787")
    parser.add_argument(
        "--report",
        metavar="DIR",
        type=Path,
        default=Path("campaign-report"),
        help="where reports go (default: campaign-report)",
    )
    parser.add_argument("--check", action="store_true", help="say what the plan comes to, and run nothing")
    return parser
