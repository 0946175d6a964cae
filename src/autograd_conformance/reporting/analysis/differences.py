"""Known differences: what a framework's expectations file lists, held against what this run's programs showed."""

from __future__ import annotations

from dataclasses import dataclass

from autograd_conformance.reporting.prose import counted
from autograd_conformance.reporting.records.records import KnownRecord, Report


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the expectations file, and how many programs of this run could have shown it."""

    known: KnownRecord
    programs: int

    @property
    def stale(self) -> bool:
        """Whether programs could have shown the difference and none did: the framework differs no longer."""
        return self.known.seen == 0 and self.programs > 0

    @property
    def status(self) -> str:
        """What this run says about the entry, in words, and what to do where it is stale."""
        if self.known.seen:
            ended = f", of which {self.known.ended:,} could not be judged behind it" if self.known.ended else ""
            return f"seen in {counted(self.known.seen, 'program')}{ended}"
        if self.stale:
            return f"stale: not seen in {counted(self.programs, 'program')}; remove it from the expectations file"
        return "not exercised in this run"


@dataclass(frozen=True, slots=True)
class Difference:
    """A known difference that this run showed; `op` is None where it is not tied to one op."""

    rule: str
    op: str | None
    reason: str

    def __str__(self) -> str:
        return self.reason if self.op is None else f"{self.op}: {self.reason}"


def entries(report: Report) -> tuple[Entry, ...]:
    """The expectations file's entries: the stale ones first, then those seen, then those that nothing exercised."""
    judged = [Entry(known, _programs(known, report)) for known in report.known]
    return tuple(sorted(judged, key=lambda each: (not each.stale, each.known.seen == 0)))


def observed_differences(report: Report) -> tuple[Difference, ...]:
    """The known differences that the run showed: the entries that were seen, and what results say beyond them."""
    seen = [Difference(known.rule, known.op, known.reason) for known in report.known if known.seen]
    found = list(seen)
    for result in report.results:
        if result.verdict == "known difference":
            about = [each for each in seen if each.rule == result.rule]
            if not any(result.op is None or each.op in (None, result.op) for each in about):
                reason = result.reason or f"no reason was given by {result.test}"
                found.append(Difference(result.rule, result.op, reason))
    return tuple(dict.fromkeys(found))


def _programs(known: KnownRecord, report: Report) -> int:
    """The programs of the tests that exercised the entry's rule and, where it names an op, are about that op.

    Only of those that came to their end: a test that went wrong may have stopped before the difference could show.
    """
    ended = (each for each in report.results if each.verdict in ("pass", "known difference"))
    return sum(each.programs for each in ended if each.exercised.get(known.rule, 0) and known.op in (None, each.op))
