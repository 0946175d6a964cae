"""A campaign as a Markdown page: how far each series is, and the causes of failures of all shards, the worst first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autograd_conformance.reporting.analysis.causes import Cause
from autograd_conformance.reporting.analysis.summary import summarize
from autograd_conformance.reporting.merging.failures import Occurrences
from autograd_conformance.reporting.records.records import Report
from autograd_conformance.reporting.render.markdown import environment


@dataclass(frozen=True, slots=True)
class SeriesRow:
    """How far a series is: its shards, their programs, how many seconds they took, and what there is to say of it."""

    title: str
    shards: int
    programs: int
    seconds: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class CauseRow:
    """A cause of failures, how often it was seen, and what came of its shortest program alone."""

    cause: Cause
    occurrences: Occurrences
    confirmation: str


@dataclass(frozen=True, slots=True)
class Section:
    """What was found of one framework; its report lies in a folder beside the page."""

    report: Report
    folder: str
    causes: tuple[CauseRow, ...]


def render(sections: Sequence[Section], series: Sequence[SeriesRow], missing: str | None) -> str:
    """The page, in GitHub's Markdown, ending in a line end; `missing` says what is not done."""
    text = (
        environment()
        .get_template("campaign.md.j2")
        .render(
            sections=[(each, summarize(each.report)) for each in sections],
            series=series,
            missing=missing,
            number=lambda n: f"{n:,.0f}",
        )
    )
    return text.rstrip() + "\n"
