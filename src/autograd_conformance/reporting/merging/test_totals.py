"""Total of one test over several runs: the sums of the counts, and the outcome that takes precedence.

A failure takes precedence over everything else. A pass takes precedence over *cut short*, because the programs of a
test that was cut short were right as far as they ran.
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
    "waiting",
    "skipped",
    "not applicable",
)
"""All outcomes of a test, by precedence: the total over several runs has the first of these outcomes that occurs in any
run.
"""


@dataclass(slots=True)
class TestTotal:
    """Result of one test over several runs: summed counts, and the outcome that takes precedence."""

    result: Result
    exercised: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, result: Result) -> Self:
        """Makes the total from the result of a single run."""
        return cls(result, Counter(result.exercised))

    def add(self, other: Result) -> None:
        """Add the result of another run."""
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
        """The total as a result; a test that was cut short in every run counts as a pass if it ran any program."""
        ran = self.result.verdict == "cut short" and self.result.programs
        verdict: Outcome = "pass" if ran else self.result.verdict
        reason = None if verdict == "pass" else self.result.reason
        seconds = round(self.result.seconds, 2)
        return replace(self.result, verdict=verdict, reason=reason, exercised=dict(self.exercised), seconds=seconds)
