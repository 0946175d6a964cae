"""Runs of a site, each with a unique title, and the names of its files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from autograd_conformance.reporting.analysis.causes import Cause
from autograd_conformance.reporting.analysis.rule_verdicts import RuleSummary
from autograd_conformance.reporting.analysis.summary import Summary, summarize
from autograd_conformance.reporting.prose import listed, shortened, unique_slugs
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import LONGEST, Header, Report
from autograd_conformance.reporting.records.versions import Place, place


@dataclass(frozen=True)
class FailurePage:
    """A failure of a run, with the file name of its page in the site and its place among the run's causes."""

    failure: Failure
    cause: Cause
    number: int
    """Number of the failure's cause among the causes of the run, from 1."""
    member: int
    """Number of the failure among the failures with the same cause, from 1."""
    slug: str
    """File name of the failure's page, without extension: ``torch-2.9.1.2``."""

    @property
    def others(self) -> tuple[Failure, ...]:
        """The other failures that have the same cause as this one."""
        return tuple(each for each in self.cause.failures if each is not self.failure)


@dataclass(frozen=True)
class Run:
    """A run of one version of a framework: a column of the matrix."""

    report: Report
    slug: str
    """Unique name of its files: lower-case letters, digits, dots and hyphens."""
    detail: str
    """Settings that distinguish the run from others of the same version; empty if there are no others."""
    latest: bool
    """Whether no other run is of a later version of the framework."""

    @property
    def header(self) -> Header:
        """Header of the run's records."""
        return self.report.header

    @property
    def name(self) -> str:
        """Name of the framework, on one line."""
        return shortened(self.header.framework.name, LONGEST)

    @property
    def version(self) -> str:
        """Version of the framework, on one line."""
        return shortened(self.header.framework.version, LONGEST)

    @property
    def title(self) -> str:
        """Name and version of the framework, with the distinguishing settings."""
        return f"{self.name} {self.version}{f' ({self.detail})' if self.detail else ''}"

    @cached_property
    def summary(self) -> Summary:
        """Verdicts of the run."""
        return summarize(self.report)

    @cached_property
    def rules(self) -> dict[str, RuleSummary]:
        """Verdicts of the run by slug of the rule."""
        return {each.rule.rule: each for each in self.summary.rules}

    @cached_property
    def failures(self) -> tuple[FailurePage, ...]:
        """Failures of the run, grouped by cause, the worst first."""
        return tuple(
            FailurePage(failure, cause, number, member, f"{self.slug}.{number}.{member}")
            for number, cause in enumerate(self.summary.causes, 1)
            for member, failure in enumerate(cause.failures, 1)
        )

    def failures_of(self, rule: str) -> list[FailurePage]:
        """Returns the pages of those failures of this run that break one rule."""
        return [page for page in self.failures if page.failure.rule == rule]

    def page_of(self, failure: Failure) -> FailurePage:
        """Page of a failure of this run."""
        return self._pages[id(failure)]

    @cached_property
    def _pages(self) -> dict[int, FailurePage]:
        return {id(page.failure): page for page in self.failures}


def runs(reports: Iterable[Report]) -> tuple[Run, ...]:
    """Runs of the reports, in their order; equal reports are one run."""
    found = list(dict.fromkeys(map(_Same, reports)))
    everything = [each.report for each in found]
    names = unique_slugs(f"{r.header.framework.name}-{r.header.framework.version}" for r in everything)
    headers = [report.header for report in everything]
    last = {each.framework.name: each.framework.version for each in sorted(headers, key=_version)}
    latest = [_version(each) == place(last[each.framework.name]) for each in headers]
    return tuple(Run(*each) for each in zip(everything, names, _details(headers), latest, strict=True))


def _version(header: Header) -> Place:
    return place(header.framework.version)


class _Same:
    """Wrapper that makes a report hashable; two reports are equal if all their records are."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.report == other.report

    def __hash__(self) -> int:
        return hash((self.report.header.framework.name, self.report.header.started))


def _details(headers: Sequence[Header]) -> list[str]:
    """For each run, the settings that distinguish it from others of the same version of the framework."""
    return [_detail(each, [other for other in headers if _title(other) == _title(each)]) for each in headers]


def _detail(header: Header, alike: Sequence[Header]) -> str:
    if len(alike) == 1:
        return ""
    parts = [_described(each) for each in alike]
    differing = [at for at in range(len(parts[0])) if len({part[at] for part in parts}) > 1]
    plain = [at for at in differing if at < len(parts[0]) - 1]
    own = _described(header)
    chosen = plain if plain and len({tuple(part[at] for at in plain) for part in parts}) == len(parts) else differing
    return listed(own[at] for at in chosen)


def _described(header: Header) -> tuple[str, ...]:
    """Properties that may distinguish two runs, the most important first; the start time comes last."""
    started = header.started.replace("T", " ")[:19]
    return shortened(header.device, 30), listed(header.dtypes), header.profile, f"suite {header.suite}", started


def _title(header: Header) -> tuple[str, str]:
    return header.framework.name, header.framework.version
