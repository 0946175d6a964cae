"""Known differences: the entries of a framework's file of known differences, with how often this run observed each."""

from __future__ import annotations

from dataclasses import dataclass

from autograd_conformance.reporting.prose import counted
from autograd_conformance.reporting.records.records import KnownRecord, Report


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the file of known differences, with the number of programs that could have shown the difference."""

    known: KnownRecord
    programs: int

    @property
    def observed(self) -> bool:
        """Whether any program of this run showed the known difference of this entry."""
        return self.known.seen > 0

    @property
    def stale(self) -> bool:
        """True if programs could have shown the difference and none did: the framework no longer differs."""
        return self.known.seen == 0 and self.programs > 0

    @property
    def status(self) -> str:
        """Describes for people what became of the entry in this run: ``observed in 3 programs``, ``not exercised in
        this run``, or that it is stale and should be removed.
        """
        if self.known.seen:
            programs = counted(self.known.seen, "program")
            if not self.known.ended:
                return f"observed in {programs}"
            if self.known.ended == self.known.seen:
                return f"observed in {programs}; what they did afterwards was not checked"
            return f"observed in {programs}; what {self.known.ended:,} of them did afterwards was not checked"
        if self.stale:
            programs = counted(self.programs, "program")
            return f"stale: not observed in {programs}; remove it from the file of known differences"
        return "not exercised in this run"


@dataclass(frozen=True, slots=True)
class Difference:
    """A known difference that this run observed; `op` is None if the difference is not about one op."""

    rule: str
    op: str | None
    reason: str

    def __str__(self) -> str:
        return self.reason if self.op is None else f"{self.op}: {self.reason}"


def entries(report: Report) -> tuple[Entry, ...]:
    """Returns the entries of the file of known differences: those that programs could have shown but did not (stale)
    first, then observed ones, then unexercised ones.
    """
    judged = [Entry(known, _programs(known, report)) for known in report.known]
    return tuple(sorted(judged, key=lambda each: (not each.stale, each.known.seen == 0)))


def observed_count(report: Report) -> int:
    """Returns the number of known differences that a run observed: the entries of the file of known differences that
    some program showed. All reports give this number.
    """
    return sum(known.seen > 0 for known in report.known) or len(observed_differences(report))


def observed_differences(report: Report) -> tuple[Difference, ...]:
    """Returns the known differences that the run observed: entries that some program showed, then those of tests that
    ended as a known difference without such an entry.
    """
    observed = [Difference(known.rule, known.op, known.reason) for known in report.known if known.seen]
    found = list(observed)
    for result in report.results:
        if result.verdict == "known difference":
            about = [each for each in observed if each.rule == result.rule]
            if not any(result.op is None or each.op in (None, result.op) for each in about):
                reason = result.reason or f"{result.test} gave no reason"
                found.append(Difference(result.rule, result.op, reason))
    return tuple(dict.fromkeys(found))


def _programs(known: KnownRecord, report: Report) -> int:
    """Counts the programs that could have shown a known difference: those of tests that exercised its rule, and are
    about its op if the difference has one. Only tests that ended with *pass* or *known difference* count, because
    others may have stopped too early.
    """
    ended = (each for each in report.results if each.verdict in ("pass", "known difference"))
    return sum(each.programs for each in ended if each.exercised.get(known.rule, 0) and known.op in (None, each.op))
