"""The runs that a site shows: each a column of the matrix, with a name of its own and the names of its files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count

from autograd_conformance.reporting.analysis.causes import Cause
from autograd_conformance.reporting.analysis.summary import RuleSummary, Summary, summarize
from autograd_conformance.reporting.prose import listed, shortened
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import LONGEST, Header, Report
from autograd_conformance.reporting.records.versions import Place, place


@dataclass(frozen=True)
class FailurePage:
    """A failure with the name of its page, its cause's number, and its own among the failures of that cause, from 1."""

    failure: Failure
    cause: Cause
    number: int
    member: int
    slug: str

    @property
    def others(self) -> tuple[Failure, ...]:
        """The other failures of the cause."""
        return tuple(each for each in self.cause.failures if each is not self.failure)


@dataclass(frozen=True)
class Run:
    """One run: a framework in one version on one device, with what its records say."""

    report: Report
    slug: str
    """The name of its files: small letters, digits, dots and hyphens; no two runs have the same."""
    detail: str
    """What tells it from the other runs of the same version; empty where it is the only one."""
    latest: bool
    """Whether no other run is of a later version of the framework."""

    @property
    def header(self) -> Header:
        """Its first record."""
        return self.report.header

    @property
    def name(self) -> str:
        """The framework's name, on one line."""
        return shortened(self.header.framework.name, LONGEST)

    @property
    def version(self) -> str:
        """The framework's version, on one line."""
        return shortened(self.header.framework.version, LONGEST)

    @property
    def title(self) -> str:
        """Name, version and what else tells it apart."""
        return f"{self.name} {self.version}{f' ({self.detail})' if self.detail else ''}"

    @cached_property
    def summary(self) -> Summary:
        """Its verdicts."""
        return summarize(self.report)

    @cached_property
    def rules(self) -> dict[str, RuleSummary]:
        """Its verdicts by the slug of the rule."""
        return {each.rule.rule: each for each in self.summary.rules}

    @cached_property
    def failures(self) -> tuple[FailurePage, ...]:
        """Its failures, those of one cause together, the worst first."""
        return tuple(
            FailurePage(failure, cause, number, member, f"{self.slug}.{number}.{member}")
            for number, cause in enumerate(self.summary.causes, 1)
            for member, failure in enumerate(cause.failures, 1)
        )

    def failures_of(self, rule: str) -> list[FailurePage]:
        """Its failures of one rule."""
        return [page for page in self.failures if page.failure.rule == rule]

    def page_of(self, failure: Failure) -> FailurePage:
        """The page of a failure of this run."""
        return self._pages[id(failure)]

    @cached_property
    def _pages(self) -> dict[int, FailurePage]:
        return {id(page.failure): page for page in self.failures}


def runs(reports: Iterable[Report]) -> tuple[Run, ...]:
    """The runs of the reports, in their order; a report that is there twice is one run."""
    found = list(dict.fromkeys(map(_Same, reports)))
    everything = [each.report for each in found]
    names = unique(f"{r.header.framework.name}-{r.header.framework.version}" for r in everything)
    headers = [report.header for report in everything]
    last = {each.framework.name: each.framework.version for each in sorted(headers, key=_version)}
    latest = [_version(each) == place(last[each.framework.name]) for each in headers]
    return tuple(Run(*each) for each in zip(everything, names, _details(headers), latest, strict=True))


def _version(header: Header) -> Place:
    return place(header.framework.version)


def unique(names: Iterable[str]) -> Iterator[str]:
    """The names as names of files: each unlike the others, whatever stands in it."""
    taken: set[str] = set()
    for name in names:
        plain = re.sub(r"[^a-z0-9.]+", "-", name.casefold()[:200])
        plain = re.sub(r"\.[.-]+", ".", plain)[:60].strip("-.") or "run"
        made = next(each for each in chain([plain], (f"{plain}-{k}" for k in count(2))) if each not in taken)
        taken.add(made)
        yield made


class _Same:
    """A report that equals another where every record of a run is the same."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.report == other.report

    def __hash__(self) -> int:
        return hash((self.report.header.framework.name, self.report.header.started))


def _details(headers: Sequence[Header]) -> list[str]:
    """For each run what differs between it and others of the same framework in the same version."""
    return [_detail(each, [other for other in headers if _title(other) == _title(each)]) for each in headers]


def _detail(header: Header, alike: Sequence[Header]) -> str:
    if len(alike) == 1:
        return ""
    parts = [_described(each) for each in alike]
    telling = [at for at in range(len(parts[0])) if len({part[at] for part in parts}) > 1]
    plain = [at for at in telling if at < len(parts[0]) - 1]
    own = _described(header)
    chosen = plain if plain and len({tuple(part[at] for at in plain) for part in parts}) == len(parts) else telling
    return listed(own[at] for at in chosen)


def _described(header: Header) -> tuple[str, ...]:
    """What may tell two runs apart, what says most first, and last when they started."""
    started = header.started.replace("T", " ")[:19]
    return shortened(header.device, 30), listed(header.dtypes), header.profile, f"suite {header.suite}", started


def _title(header: Header) -> tuple[str, str]:
    return header.framework.name, header.framework.version
