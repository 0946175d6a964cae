"""``autograd-conformance campaign PLAN.toml``: runs a plan of many runs, or of bisections, on this machine or a
cluster.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from autograd_conformance.campaigns.bisect.plan import SEARCH, SearchPlan, search_plan
from autograd_conformance.campaigns.cluster.waiting import MINUTES, NoWorkers, Waiting
from autograd_conformance.campaigns.plans.plan import Plan
from autograd_conformance.campaigns.plans.plan import plan as run_plan
from autograd_conformance.campaigns.plans.table import MalformedPlan, read_table
from autograd_conformance.package import sources
from autograd_conformance.plugin.recording.folder import ReportFolder, UnusableFolder
from autograd_conformance.plugin.recording.terminal import WIDTH
from autograd_conformance.processes.termination import Termination
from autograd_conformance.reporting.analysis.verdicts import REPORT_ERROR
from autograd_conformance.reporting.command import USAGE, Parser
from autograd_conformance.reporting.prose import counted, printable
from autograd_conformance.reporting.render.failures import SHOWN_IN_FULL
from autograd_conformance.reporting.render.terminal import print_summary
from autograd_conformance.reporting.site.build import FolderInUse

if TYPE_CHECKING:
    from autograd_conformance.campaigns.cluster.engine import Engine
    from autograd_conformance.campaigns.execution.campaign import Campaign
    from autograd_conformance.campaigns.storage.storage import Storage

BROKEN, INTERRUPTED, INCOMPLETE = 1, 2, 3
"""Exit codes of a campaign: a MUST rule is broken; the campaign was interrupted; some of its runs or bisections are
missing or undecided."""

EXTRA = "campaigns need Dask and fsspec: pip install 'autograd-conformance[campaign]'"


def main(arguments: Sequence[str] | None = None, program: str = "autograd-conformance campaign") -> int:
    """Runs or resumes the plan of runs or bisections that the command line names; returns the exit code."""
    options = _parser(program).parse_args(arguments)
    try:
        plan = read_plan(options.plan)
        resources = _resources(options.resources)
        _check(plan, options, resources)
    except MalformedPlan as error:
        return _fail(str(error), USAGE)
    if options.check:
        print(_describe(plan) if isinstance(plan, Plan) else plan)
        return 0
    try:
        from autograd_conformance.campaigns.cluster.engine import NoCluster
        from autograd_conformance.campaigns.ownership import OtherCampaign
        from autograd_conformance.campaigns.storage.storage import StorageError
    except ModuleNotFoundError as error:
        return _fail(f"{EXTRA} ({error})", USAGE)
    termination = Termination(controls=True)
    try:
        report_folder = ReportFolder(options.report)
        try:
            return _run(plan, options, resources, termination)
        finally:
            report_folder.release()
    except (OtherCampaign, FolderInUse, UnusableFolder, NoCluster) as error:
        return _fail(str(error), USAGE)
    except (StorageError, OSError) as error:
        return _fail(str(error), REPORT_ERROR)
    except KeyboardInterrupt:
        return _fail("stopped", INTERRUPTED)
    finally:
        termination.restore()


def read_plan(path: Path) -> Plan | SearchPlan:
    """Reads the plan in a file, of runs or of bisections. Raises `MalformedPlan`, whose message says what is wrong."""
    form = read_table(path)
    return search_plan(form, path) if SEARCH in form else run_plan(form, path)


def _run(
    plan: Plan | SearchPlan, options: argparse.Namespace, resources: Mapping[str, float], termination: Termination
) -> int:
    from autograd_conformance.campaigns.ownership import claim_storage
    from autograd_conformance.campaigns.storage.storage import Storage

    console = Console()
    console.width = max(WIDTH, console.width)
    storage = Storage(options.storage or plan.storage or "", plan.options)
    claim_storage(storage, plan.series if isinstance(plan, Plan) else ())
    if isinstance(plan, SearchPlan):
        return _run_searches(plan, storage, options, resources, console, termination)
    return _run_campaign(plan, storage, options, resources, console, termination)


def _run_campaign(
    plan: Plan, storage: Storage, options: argparse.Namespace, resources: Mapping[str, float], console: Console,
    termination: Termination,
) -> int:  # fmt: skip
    from autograd_conformance.campaigns.execution.campaign import Campaign

    campaign = Campaign(plan, storage, sources.suite(), Waiting(60 * options.wait))
    with console.status("Reading stored records") as status:
        for shards in campaign.resume():
            status.update(f"Reading stored records: {counted(shards, 'shard')}")
    if campaign.merged:
        shards = sum(len(row.done) for row in campaign.progress)
        console.print(f"{counted(shards, 'shard')} of this campaign were already stored", highlight=False)
    code = _on_cluster(
        lambda engine: _show_campaign(campaign, engine, console), options, resources, console, termination
    )
    return _write_results(campaign, options.report, console, code)


def _run_searches(
    plan: SearchPlan, storage: Storage, options: argparse.Namespace, resources: Mapping[str, float], console: Console,
    termination: Termination,
) -> int:  # fmt: skip
    from autograd_conformance.campaigns.bisect import planned as command
    from autograd_conformance.campaigns.bisect.searches import Searches

    searches = Searches(plan, storage, sources.suite(), Waiting(60 * options.wait))
    stored = searches.resume()
    if stored:
        console.print(f"{counted(stored, 'verdict')} of this plan were already stored", highlight=False)
    code = 0
    if searches.missing:
        code = _on_cluster(
            lambda engine: command.run_searches(searches, engine, console), options, resources, console, termination
        )
    is_decided = command.write_page(searches, options.report, console)
    return code or (0 if is_decided else INCOMPLETE)


def _on_cluster(
    work: Callable[[Engine], None], options: argparse.Namespace, resources: Mapping[str, float], console: Console,
    termination: Termination,
) -> int:  # fmt: skip
    """Calls `work` with a cluster; returns the exit code if the work ended early, such as by an interrupt or a lost
    scheduler, or 0.
    """
    from autograd_conformance.campaigns.cluster.engine import NoCluster, local, remote
    from autograd_conformance.campaigns.storage.storage import StorageError

    cluster: AbstractContextManager[Engine]
    if options.scheduler:
        cluster = remote(options.scheduler)
    else:
        cluster = local(options.workers or os.cpu_count() or 1, resources, options.dashboard)
    code, reason = 0, ""
    try:
        with cluster as engine:
            work(engine)
    except KeyboardInterrupt:
        termination.acknowledged.set()
        code, reason = INTERRUPTED, "stopped"
    except NoCluster as error:
        code, reason = INTERRUPTED, str(error)
    except NoWorkers as error:
        code, reason = INCOMPLETE, str(error)
    except StorageError as error:
        code, reason = REPORT_ERROR, str(error)
    if reason:
        console.print(
            f"{printable(reason)}; to continue, run the same command again", style="red", markup=False, soft_wrap=True
        )
    return code


def _show_campaign(campaign: Campaign, engine: Engine, console: Console) -> None:
    from autograd_conformance.campaigns.execution.view import View

    view = View(campaign, engine, console)
    with view.display():
        for event in campaign.run(engine):
            view.report(event)


def _write_results(campaign: Campaign, folder: Path, console: Console, code: int) -> int:
    """Writes the reports, prints the summary of each, and returns the exit code of the campaign: `code`, unless it is
    0.
    """
    from autograd_conformance.campaigns.execution.results import PAGE, SITE, write_results

    results = write_results(campaign, folder)
    for result in results:
        print_summary(result.report, console, result.folder / "report.md", in_full=SHOWN_IN_FULL)
    for row in campaign.progress:
        for seed, reason in row.given_up.items():
            console.print(f"{row.series.title}, seed {seed}: {reason}", style="red", markup=False, soft_wrap=True)
    if results:
        console.print(f"page    {folder / PAGE}\nsite    {folder / SITE / 'index.html'}", markup=False, highlight=False)
    if code:
        return code
    if any(failure.level == "MUST" for result in results for failure in result.report.failures):
        return BROKEN
    return INCOMPLETE if any(row.given_up for row in campaign.progress) else 0


def _check(plan: Plan | SearchPlan, options: argparse.Namespace, resources: Mapping[str, float]) -> None:
    """Raise `MalformedPlan` if the plan cannot be run with these options."""
    if not (options.storage or plan.storage):
        raise MalformedPlan(f"{options.plan}: it names no storage; add one to the plan, or use --storage=URL")
    if options.scheduler:
        if options.workers or resources or options.dashboard:
            raise MalformedPlan("--workers, --resources and --dashboard are for a local cluster, not with --scheduler")
        return
    for each in plan.series if isinstance(plan, Plan) else plan.steps:
        for name, amount in each.resources.items():
            if resources.get(name, 0) < amount:
                raise MalformedPlan(
                    f"{each.title} needs {name}={amount:g}, and workers here offer "
                    f"{resources.get(name, 0):g}: add --resources={name}={amount:g}"
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
    """Reads a time in minutes from the command line. Error messages of argparse contain the name of this function."""
    found = float(word)
    if not found >= 0:
        raise ValueError(f"{word} is not a time")
    return found


def _describe(plan: Plan) -> str:
    """Returns a plan as text, with a line for each series."""
    amount = plan.amount
    if amount.hours is not None:
        amount_text = f"{amount.hours:g} hour{'' if amount.hours == 1 else 's'}"
    else:
        amount_text = (
            f"{amount.programs:,} programs" if amount.last is None else f"seeds {amount.first:,} to {amount.last:,}"
        )
        amount_text = f"{amount_text} each"
    lines = [f"{len(plan.series):,} series, {amount_text}"]
    for series in plan.series:
        needs = ", ".join(f"{name}={value:g}" for name, value in series.resources.items())
        lines.append(f"  {series.title}: {series.programs:,} programs a shard" + (f", needs {needs}" if needs else ""))
    return "\n".join(lines)


def _fail(reason: str, code: int) -> int:
    print(f"campaign: {printable(reason)}", file=sys.stderr)
    return code


def _parser(program: str) -> argparse.ArgumentParser:
    parser = Parser(
        program,
        description="Run a campaign: many runs, called shards, whose records are kept in the plan's storage. Stored "
        "shards are not run again: after an interruption, the same command continues. A plan may also bisect "
        "findings over versions of a framework.",
        epilog="Exit codes: 0: no MUST rule is broken. 1: some are. 2: interrupted, or the scheduler was lost. 3: some "
        "shards failed, or no worker could run them, or it is undecided when a finding began. 4: wrong usage, or the "
        "storage holds another campaign. 11: the storage or the report could not be written.",
    )
    parser.add_argument("plan", metavar="PLAN", type=Path, help="the plan, a TOML file (docs/campaigns.md)")
    parser.add_argument("--storage", metavar="URL", help="the storage of records, instead of the plan's")
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="a Dask scheduler, or its file (default: a cluster on this machine)"
    )
    parser.add_argument("--workers", metavar="N", type=int, help="processes on this machine (default: one per core)")
    parser.add_argument(
        "--resources",
        metavar="NAME=N",
        action="append",
        default=[],
        help="a resource that each process on this machine offers",
    )
    parser.add_argument(
        "--wait",
        metavar="MINUTES",
        type=minutes,
        default=MINUTES,
        help="how long to wait for workers if no present worker can run a remaining task "
        f"(default: {MINUTES:g}; inf: for ever)",
    )
    parser.add_argument(
        "--dashboard", metavar="ADDRESS", help="the address of Dask's dashboard on this machine, such as :8787"
    )
    parser.add_argument(
        "--report",
        metavar="DIR",
        type=Path,
        default=Path("campaign-report"),
        help="the folder of the reports (default: campaign-report)",
    )
    parser.add_argument("--check", action="store_true", help="print the series of the plan, and run nothing")
    return parser
