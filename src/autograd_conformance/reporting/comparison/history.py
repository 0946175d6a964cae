"""History of frameworks, from a folder of record files: the changes from run to run."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from autograd_conformance.reporting.analysis.summary import summarize
from autograd_conformance.reporting.comparison.changes import compare
from autograd_conformance.reporting.prose import counted, listed, shortened, unique_slugs
from autograd_conformance.reporting.records.records import Header, Report
from autograd_conformance.reporting.records.stream import load

FEW = 4
"""Maximum number of rules that the history names for each kind of change; of more, it counts the rest."""


def record_files(folder: Path) -> list[Path]:
    """The record files in a folder and its subfolders, sorted by name."""
    return sorted((*folder.rglob("*.jsonl"), *folder.rglob("*.jsonl.gz")))


def add(file: Path, folder: Path) -> Path:
    """Copy a record file, compressed, into a history folder, which has a subfolder for each framework.

    Returns the path of the copy.
    """
    report = load(file, allow_truncated=True)
    header, content = report.header, file.read_bytes()
    started = re.sub(r"\D", "", header.started)[:14]
    framework, version, device = unique_slugs((header.framework.name, header.framework.version, header.device))
    path = folder / framework / f"{started}-{version}-{device}.jsonl.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if file.suffix == ".gz" else gzip.compress(content, mtime=0))
    return path


def lines(reports: Sequence[Report]) -> Iterator[str]:
    """Lines of text on the runs of each framework and device in the order of time, with the changes since the previous
    run. Runs of different versions of the suite are not compared, because their rules may differ.
    """
    ordered = sorted(reports, key=lambda report: (*_series(report.header), report.header.started))
    for (name, device), runs in groupby(ordered, key=lambda report: _series(report.header)):
        yield f"{shortened(name, 60)} on {shortened(device, 30)}"
        before: Report | None = None
        for run in runs:
            yield f"  {_run_line(run)}"
            if before is not None:
                yield from (f"    {text}" for text in _changes(before, run))
            before = run


def _series(header: Header) -> tuple[str, str]:
    """Returns the framework's name and the device, which all runs of one history have in common."""
    return header.framework.name, header.device


def _run_line(run: Report) -> str:
    header, summary = run.header, summarize(run)
    what = f"{header.started[:10]}  {shortened(header.framework.version, 30)}  suite {shortened(header.suite, 20)}"
    defects = f", {counted(len(summary.causes), 'defect')}" if summary.causes else ""
    return f"{what}  {summary.must.ratio} MUST rules passed{defects}: {summary.conclusion}"


def _changes(before: Report, run: Report) -> Iterator[str]:
    """Yields lines that name the rules whose verdict or failing ops changed since the previous run."""
    if before.header.suite != run.header.suite:
        yield "not compared with the previous run, which used another version of the suite"
        return
    changes = compare(before, run)
    for title, kind in (("new", changes.of("new")), ("fixed", changes.of("fixed")), ("other", changes.of("changed"))):
        if kind:
            yield f"{title} ({len(kind)}): {listed((each.rule for each in kind), FEW)}"
