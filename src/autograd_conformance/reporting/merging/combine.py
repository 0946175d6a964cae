"""Reads the reports of many record files, sorted as the columns of the site's matrix of rules and runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from autograd_conformance.reporting.records.records import Report
from autograd_conformance.reporting.records.stream import load
from autograd_conformance.reporting.records.versions import Place, place


def combine(paths: Iterable[str | Path], allow_truncated: bool = False) -> list[Report]:
    """Reports in the files, sorted by framework, version and start of the run.

    Raises `InvalidReport` if any file is invalid, because a missing column would be misleading. The file of a killed
    run is invalid unless `allow_truncated`.
    """
    return sorted((load(path, allow_truncated) for path in paths), key=_place)


def _place(report: Report) -> tuple[str, Place, str]:
    framework = report.header.framework
    return framework.name.casefold(), place(framework.version), report.header.started
