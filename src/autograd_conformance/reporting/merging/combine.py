"""Several runs side by side: the reports of many record files, in the order in which a matrix shows them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from autograd_conformance.reporting.records.records import Report
from autograd_conformance.reporting.records.stream import load
from autograd_conformance.reporting.records.versions import Place, place


def combine(paths: Iterable[str | Path], allow_truncated: bool = False) -> list[Report]:
    """The reports in the files, sorted by framework, its version, and when the run started.

    `InvalidReport` where any file is invalid: a matrix with a column left out would say something untrue. A run without
    footer is, unless `allow_truncated`.
    """
    return sorted((load(path, allow_truncated) for path in paths), key=_place)


def _place(report: Report) -> tuple[str, Place, str]:
    framework = report.header.framework
    return framework.name.casefold(), place(framework.version), report.header.started
