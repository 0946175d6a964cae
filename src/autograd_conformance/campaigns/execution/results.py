"""Writes the results of a campaign: for each framework a report like that of one run, a Markdown page about all
frameworks, and a folder of web pages.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from autograd_conformance.campaigns.execution.campaign import Campaign
from autograd_conformance.campaigns.execution.progress import SeriesProgress
from autograd_conformance.plugin.recording.folder import ReportFolder
from autograd_conformance.reporting.analysis.causes import Cause, causes
from autograd_conformance.reporting.merging.compatibility import Kind
from autograd_conformance.reporting.merging.failures import program_key
from autograd_conformance.reporting.merging.merge import MergedRuns
from autograd_conformance.reporting.prose import unique_slugs
from autograd_conformance.reporting.records.failure import Confirmation, Failure
from autograd_conformance.reporting.records.records import Header, Report
from autograd_conformance.reporting.records.replay import replay_text
from autograd_conformance.reporting.records.stream import write
from autograd_conformance.reporting.render import campaign as page
from autograd_conformance.reporting.render import markdown
from autograd_conformance.reporting.site.build import build

PAGE = "campaign.md"
"""The file name of the Markdown page about the whole campaign."""

SITE = "site"
"""The name of the folder for the web pages."""

REPLAY_TEXT = {"still failing": "fails", "fixed": "did not fail", "cannot run": "could not be run"}
"""For each result of a replayed failure, the text that the page `campaign.md` and the terminal show."""


@dataclass(frozen=True, slots=True)
class Result:
    """The merged report of one framework, in one version, on one device."""

    report: Report
    folder: Path


def write_results(campaign: Campaign, folder: Path) -> list[Result]:
    """Writes the reports, `campaign.md` and the web pages from all shards so far. Raises `UnusableFolder`,
    `FolderInUse` or OSError if that is impossible.
    """
    reports = [as_one_run(merged, campaign.missing) for merged in campaign.merged.values()]
    names = unique_slugs(_name(report.header) for report in reports)
    sections, results = [], []
    for (key, merged), report, name in zip(campaign.merged.items(), reports, names, strict=True):
        report = _write_report(campaign, key, report, folder / name)
        results.append(Result(report, folder / name))
        rows = [_cause(campaign, key, merged, each) for each in causes(report)]
        sections.append(page.Section(report, name, tuple(rows)))
    text = page.render(sections, [_row(each) for each in campaign.progress], campaign.missing)
    (folder / PAGE).write_text(text, encoding="utf-8")
    if results:
        build([each.report for each in results], folder / SITE)
    return results


def as_one_run(merged: MergedRuns, missing: str | None) -> Report:
    """Returns the merged report of many shards, with the ending of the campaign instead of a shard's. `missing`
    describes the part of the plan that is not done.
    """
    report = merged.report()
    assert report.footer is not None, "a merged report has a footer"
    broken = any(each.level == "MUST" for each in report.failures)
    footer = replace(
        report.footer, verdict="cut short" if missing else "complete", reason=missing, exit_code=int(broken)
    )
    header = replace(report.header, seed=None, profile=f"campaign of {merged.runs:,} runs")
    return replace(report, header=header, footer=footer)


def _name(header: Header) -> str:
    parts = [header.framework.name, header.framework.version]
    parts += [header.device] if header.device != "cpu" else []
    return "-".join([*parts, *(header.dtypes if len(header.dtypes) == 1 else ())])


def _row(row: SeriesProgress) -> page.SeriesRow:
    given_up = f"{len(row.given_up):,} given up: {next(iter(row.given_up.values()))}" if row.given_up else ""
    return page.SeriesRow(row.series.title, len(row.done), row.programs, row.seconds, given_up)


def _write_report(campaign: Campaign, key: Kind, report: Report, folder: Path) -> Report:
    """Writes the report of one framework: `records.jsonl`, `report.md`, and a replay file for each failure."""
    report_folder = ReportFolder(folder)
    try:
        report_folder.clear()
        failures = tuple(
            _with_replay_file(each, report.header, key, campaign, folder / "replay") for each in report.failures
        )
        report = replace(report, failures=failures)
        write(report, folder / "records.jsonl")
        (folder / "report.md").write_text(markdown.render(report), encoding="utf-8")
    finally:
        report_folder.release()
    return report


def _with_replay_file(failure: Failure, header: Header, key: Kind, campaign: Campaign, folder: Path) -> Failure:
    """Writes the replay file of a failure; returns the failure with its path, the command that replays it, and the
    result of its replay.
    """
    result = campaign.replay_result(key, failure)
    alone = (
        Confirmation(runs=1, failed=1) if result is not None and result.verdict == "still failing" else failure.alone
    )
    if not failure.program:
        return replace(failure, replay=None, command=None, alone=alone)
    path = folder / f"{failure.rule.replace('/', '-')}.{program_key(failure)}.json"
    folder.mkdir(parents=True, exist_ok=True)
    seed = campaign.merged[key].failures.seed(failure)
    path.write_text(replay_text(failure, replace(header, seed=seed)), encoding="utf-8")
    command = shlex.join(["autograd-conformance", *campaign.origin(key, failure).target, f"--replay={path}"])
    return replace(failure, replay=str(path), command=command, alone=alone)


def _cause(campaign: Campaign, key: Kind, merged: MergedRuns, cause: Cause) -> page.CauseRow:
    return page.CauseRow(cause, merged.failures.occurrences(cause), _replay_text(campaign, key, cause.shown))


def _replay_text(campaign: Campaign, key: Kind, failure: Failure) -> str:
    result = campaign.replay_result(key, failure)
    if result is not None:
        return REPLAY_TEXT[result.verdict]
    return (
        "" if failure.alone is None or not failure.alone.runs else "fails" if failure.alone.failed else "did not fail"
    )
