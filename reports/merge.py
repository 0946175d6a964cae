"""Several runs of one framework as one: the shards of a run, or runs with other seeds, put together.

What is put together has to have been held to the same rules, in the same version of the suite, and to be the same
framework with the same claims on the same device: anything else is refused, for a sum of two things says nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from autograd_conformance.reports.claims import ClaimRecord
from autograd_conformance.reports.prose import listed, shortened
from autograd_conformance.reports.records import (
    Allowed,
    Behaviour,
    Coverage,
    Failure,
    Footer,
    Header,
    Known,
    Record,
    Report,
    Setting,
)

ENDINGS = ("complete", "cut short", "interrupted")
"""How a run ended, the best first."""


class Unlike(Exception):
    """Runs that are not of one kind; the message says in what they differ."""


def merged(reports: Sequence[Report]) -> Report:
    """One report of all, at least one; `Unlike` where they cannot be put together, and where one has no footer."""
    _check(reports)
    headers = [report.header for report in reports]
    return Report(
        _header(headers),
        reports[0].rules,
        tuple(result for report in reports for result in report.results),
        _failures(reports),
        _footer(reports),
        _known(reports),
        _claims(reports),
        _coverage(reports),
        _behaviours(reports),
    )


def records(report: Report) -> Iterable[Record]:
    """The records of a report, in the order of a file."""
    yield report.header
    yield from report.rules
    yield from report.known
    yield from report.failures
    yield from report.results
    yield from report.claims
    yield from report.coverage
    yield from report.behaviours
    if report.footer:
        yield report.footer


def _check(reports: Sequence[Report]) -> None:
    first = reports[0]
    for report in reports[1:]:
        a, b = first.header, report.header
        pairs: dict[str, tuple[object, object]] = {
            "suite": (a.suite, b.suite),
            "framework": (a.framework.title, b.framework.title),
            "what the framework claims": (a.framework, b.framework),
            "device": (a.device, b.device),
            "strictness": (a.strict, b.strict),
            "rules": (set(first.rules), set(report.rules)),
        }
        for what, (one, other) in pairs.items():
            if one != other:
                shown = isinstance(one, str)
                told = f": {shortened(str(one), 60)} and {shortened(str(other), 60)}" if shown else ""
                raise Unlike(f"the runs differ in their {what}{told}")
    if any(report.footer is None for report in reports):
        raise Unlike("a run has no footer: it was cut off")
    drawn: Counter[tuple[int, str]] = Counter()
    for report in reports:
        if report.header.seed is not None:
            drawn.update((report.header.seed, test) for test in {result.test for result in report.results})
    twice = [test for (_, test), times in drawn.items() if times > 1]
    if twice:
        raise Unlike(f"with one seed two runs drew the same programs, which would count twice, for {listed(twice, 3)}")


def _header(headers: Sequence[Header]) -> Header:
    """What the runs have in common; where they differ, all of it, and no seed."""
    first = headers[0]
    seeds = {header.seed for header in headers}
    return replace(
        first,
        seed=first.seed if len(seeds) == 1 else None,
        profile=listed(dict.fromkeys(header.profile for header in headers)),
        dtypes=tuple(dict.fromkeys(dtype for header in headers for dtype in header.dtypes)),
        started=min(header.started for header in headers),
        python=listed(dict.fromkeys(header.python for header in headers)),
        platform=listed(dict.fromkeys(header.platform for header in headers)),
        packages={
            name: listed(dict.fromkeys(h.packages[name] for h in headers if name in h.packages))
            for name in dict.fromkeys(name for header in headers for name in header.packages)
        },
        workers=sum(header.workers for header in headers),
    )


def _failures(reports: Iterable[Report]) -> tuple[Failure, ...]:
    """The failures, the same program under the same test once."""
    found: list[Failure] = []
    for failure in (each for report in reports for each in report.failures):
        same = (e for e in found if (e.test, e.rule, e.verdict) == (failure.test, failure.rule, failure.verdict))
        if not any(each.program == failure.program for each in same):
            found.append(failure)
    return tuple(found)


def _footer(reports: Sequence[Report]) -> Footer:
    """How the worst of them ended. A test that one run left out and another ran was not left out."""
    footers = [report.footer for report in reports if report.footer]
    worst = max(footers, key=lambda footer: ENDINGS.index(footer.verdict))
    ran = {result.test for report in reports for result in report.results}
    collected = max(
        len({result.test for result in report.results}) + footer.not_run + footer.deselected
        for report, footer in zip(reports, footers, strict=True)
    )
    return replace(
        worst,
        finished=max(footer.finished for footer in footers),
        seconds=sum(footer.seconds for footer in footers),
        tests=len(ran),
        programs=sum(footer.programs for footer in footers),
        exit_code=max(footer.exit_code for footer in footers),
        not_run=sum(footer.not_run for footer in footers),
        deselected=max(0, collected - len(ran) - sum(footer.not_run for footer in footers)),
    )


def _known(reports: Iterable[Report]) -> tuple[Known, ...]:
    """The known differences, each with all programs that showed it; equal entries of one run stay two."""
    entries: dict[tuple[str, str | None, str, int], Known] = {}
    for report in reports:
        nth: Counter[tuple[str, str | None, str]] = Counter()
        for each in report.known:
            key = each.rule, each.op, each.reason
            place = (*key, nth[key])
            nth[key] += 1
            known = entries.get(place)
            entries[place] = (
                replace(each, seen=known.seen + each.seen, ended=known.ended + each.ended) if known else each
            )
    return tuple(entries.values())


def _claims(reports: Iterable[Report]) -> tuple[ClaimRecord, ...]:
    """The claims, each as a run shows it that tried it."""
    found: dict[str, ClaimRecord] = {}
    for claim in (each for report in reports for each in report.claims):
        if claim.key not in found or found[claim.key].observed == "not run":
            found[claim.key] = claim
    return tuple(found.values())


def _coverage(reports: Iterable[Report]) -> tuple[Coverage, ...]:
    """What each op met in any of them."""
    found: dict[str, dict[tuple[str, bool], Counter[str]]] = {}
    for each in (each for report in reports for each in report.coverage):
        settings = found.setdefault(each.op, {})
        for setting in each.met:
            settings.setdefault((setting.dtype, setting.recorded), Counter()).update(setting.actions)
    return tuple(
        Coverage(op=op, met=tuple(Setting(dtype, recorded, dict(n)) for (dtype, recorded), n in settings.items()))
        for op, settings in found.items()
    )


def _behaviours(reports: Iterable[Report]) -> tuple[Behaviour, ...]:
    """What was done where the rules leave a choice, in any of them."""
    found: dict[tuple[str, tuple[Allowed, ...]], Counter[str]] = {}
    for each in (each for report in reports for each in report.behaviours):
        found.setdefault((each.instruction, each.allowed), Counter()).update(each.seen)
    return tuple(Behaviour(instruction=i, allowed=allowed, seen=dict(n)) for (i, allowed), n in found.items())
