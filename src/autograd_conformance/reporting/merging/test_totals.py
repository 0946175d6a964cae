"""A test that several runs ran: its counts are added up, and its verdict is the worst that any of them came to.

That its time ended in one of them says nothing: what was cut short is right as far as it went, and others went on.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Self

from autograd_conformance.reporting.records.records import Result
from autograd_conformance.reporting.records.terms import FAILURE_VERDICTS, INCONCLUSIVE, Outcome

ORDER: tuple[Outcome, ...] = (
    *FAILURE_VERDICTS,
    *INCONCLUSIVE,
    "known difference",
    "pass",
    "cut short",
    "vacuous",
    "skipped",
    "not applicable",
)
"""The outcomes of a test: of several runs the first of these is the test's."""


@dataclass(slots=True)
class TestTotal:
    """What all runs came to in one test."""

    result: Result
    exercised: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, result: Result) -> Self:
        """What one run came to."""
        return cls(result, Counter(result.exercised))

    def add(self, other: Result) -> None:
        """Add a run's."""
        mine = self.result
        worst = min(mine, other, key=lambda each: ORDER.index(each.verdict))
        self.exercised.update(other.exercised)
        self.result = replace(
            mine,
            verdict=worst.verdict,
            reason=worst.reason,
            programs=mine.programs + other.programs,
            left_open=mine.left_open + other.left_open,
            instructions=mine.instructions + other.instructions,
            judged=mine.judged + other.judged,
            seconds=mine.seconds + other.seconds,
        )

    def whole(self) -> Result:
        """The sum; what was cut short in every run is a pass as far as all of them went."""
        went = self.result.verdict == "cut short" and self.result.programs
        verdict: Outcome = "pass" if went else self.result.verdict
        reason = None if verdict == "pass" else self.result.reason
        seconds = round(self.result.seconds, 2)
        return replace(self.result, verdict=verdict, reason=reason, exercised=dict(self.exercised), seconds=seconds)
