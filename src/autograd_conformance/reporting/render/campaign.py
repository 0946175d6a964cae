"""The Markdown page of a campaign: the progress of each series, and the causes of failures over all shards."""

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
    """Progress of a series (runs, called shards, that differ only in their seeds): the numbers of finished shards, of
    their programs and of their seconds, and a note.
    """

    title: str
    shards: int
    programs: int
    seconds: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class CauseRow:
    """A cause of failures, the number of times that its failures occurred, and the result of running the shortest
    failing program again in a fresh process, in words.
    """

    cause: Cause
    occurrences: Occurrences
    confirmation: str


@dataclass(frozen=True, slots=True)
class Section:
    """Results of a campaign for one framework; the framework's own report is in `folder`, relative to the campaign's
    page.
    """

    report: Report
    folder: str
    causes: tuple[CauseRow, ...]


def render(sections: Sequence[Section], series: Sequence[SeriesRow], missing: str | None) -> str:
    """The page of a campaign, in GitHub's Markdown; `missing` names the unfinished series."""
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
