"""The budget of a run: a maximum number of programs or seconds, shared among its tests.

Each test first gets the programs that its rule needs to count as tested. The rest is shared in proportion to the number
of programs that the Hypothesis profile gives to each test. So a small budget still tests every rule, and a very small
one tries every rule. A test whose share ends is cut short, and its result says so; a rule that was tested by too few
programs until then has the verdict "vacuous". A violation found before is still reported, without more shrinking.
"""

from __future__ import annotations

import math
import time
import unittest
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import accumulate

from autograd_conformance.checking.check import Check, RuleViolated
from autograd_conformance.checking.limits import Limits
from autograd_conformance.programs.language import Program
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.strategies.building.drawn import Drawn


class Spent(unittest.SkipTest):
    """Ends a test whose share of the budget is spent. Hypothesis and pytest both end a test at this exception."""


@dataclass(frozen=True, slots=True)
class Demand:
    """The number of programs that a test requests, and how many of these come first."""

    programs: float
    """Number of programs that the profile gives to the test; 0 if the test does not apply to the framework."""
    first: float
    """Number of these programs that every test gets before any test gets more."""


@dataclass(slots=True)
class Share:
    """The programs and the time that one test may use of the run's budget."""

    programs: float
    """Largest number of programs that the test may run."""
    until: float
    """Deadline of the test, on the monotonic clock."""
    first_until: float = -math.inf
    """Deadline of the test until its rule counts as tested, on the monotonic clock, if that is later than `until`."""

    def spent(self, programs: int, tested: bool = True) -> bool:
        """Returns whether the share is spent after this number of programs. `tested` is whether the rule counts as
        tested by then.
        """
        if programs >= self.programs:
            return True
        return time.monotonic() >= (self.until if tested else max(self.until, self.first_until))


class Budget:
    """The remaining budget of one process, if several processes share the limits of a run."""

    def __init__(self, limits: Limits, processes: int, demands: Sequence[Demand]) -> None:
        """Takes the demand of each test of the whole run, in the order of the tests, as `demands`."""
        self.limits, self.processes, self.demands = limits, processes, demands
        self.left = math.inf if limits.programs is None else limits.programs / processes
        self.rest = _suffix_sums([each.programs for each in demands])
        """For each test, the number of programs that it and all later tests request."""
        self.needs = _suffix_sums([each.first for each in demands])
        """For each test, the number of programs that the test and all later tests request to come first."""
        self.taken, self.took = 0.0, 0.0
        """Number of first programs that the finished tests requested, and the seconds that these tests took for those
        programs.
        """

    def share(self, test: int) -> Share:
        """Returns the share of a test, given the test's position in the run."""
        demand, processes = self.demands[test], self.processes
        part = min(1.0, demand.programs * processes / max(self.rest[test], 1e-9))
        first = min(1.0, demand.first * processes / max(self.needs[test], 1e-9))
        return Share(self._programs(test, part, first), *self._seconds(test, part, first))

    def _programs(self, test: int, part: float, first: float) -> float:
        if math.isinf(self.left):
            return self.left
        needed = self.needs[test] / self.processes
        more = self.left - needed
        share = self.demands[test].first + part * more if more > 0 else first * self.left
        return math.floor(min(share, self.left) + 0.5)

    def _seconds(self, test: int, part: float, first: float) -> tuple[float, float]:
        seconds = self.limits.seconds_left()
        if seconds is None:
            return math.inf, math.inf
        later = (self.needs[test] - self.demands[test].first) / self.processes
        reserved = later * self.took / self.taken if self.taken else 0.0
        now = time.monotonic()
        return now + part * max(0.0, seconds - reserved), now + first * seconds

    def used(self, test: int, programs: int, seconds: float) -> None:
        """Records that a test has finished: its programs, and the seconds until its rule was tested or the
        test ended.
        """
        self.left = max(0.0, self.left - programs)
        self.taken += self.demands[test].first
        self.took += seconds


def _suffix_sums(numbers: Sequence[float]) -> list[float]:
    """Returns for each number the sum of this number and all later ones: [1, 2, 3] gives [6, 5, 3]."""
    return list(accumulate(reversed(numbers)))[::-1]


@dataclass
class BoundedCheck(Check):
    """A check that ends when its test's share of the budget is spent."""

    share: Share = field(default_factory=lambda: Share(math.inf, math.inf))
    """The programs and the time that the test may use."""
    enough: float = 0
    """Number of times that the rule has to be exercised to count as tested."""
    cut: bool = False
    """Whether the share ended before the test did."""
    failing: set[str] = field(default_factory=set)
    """The texts of the programs that violated a rule. Hypothesis runs a failing program again, and the check has to
    fail again.
    """
    began: float = field(default_factory=time.monotonic)
    """Start of the test, on the monotonic clock."""
    tested_at: float | None = None
    """When the rule first counted as tested, on the monotonic clock; None until then."""

    @classmethod
    def of(cls, check: Check, share: Share, enough: float = 0) -> BoundedCheck:
        """Returns a copy of a check that ends when the given share of the budget is spent."""
        return cls(**{each.name: getattr(check, each.name) for each in fields(Check)}, share=share, enough=enough)

    def __call__(self, case: Program | Drawn | Related) -> None:
        if self.share.spent(self.programs, self.tested_at is not None):
            self.cut = True
            if not self.failing:
                raise Spent("the test's share of the budget ended")
            if _text(case) not in self.failing:
                return  # the violation found so far is not shrunk further
        try:
            super().__call__(case)
        except RuleViolated:
            self.failing.add(_text(case))
            raise
        finally:
            if self.tested_at is None and self._is_tested():
                self.tested_at = time.monotonic()

    def _is_tested(self) -> bool:
        """Returns whether this test has exercised its rule often enough to count as tested."""
        return self.rule is None or self.exercised[self.rule] >= self.enough

    @property
    def first_seconds(self) -> float:
        """Seconds from the start of the test until its rule counted as tested; if it never did, until the test ended or
        should have ended.
        """
        end = min(time.monotonic(), max(self.share.until, self.share.first_until))
        return (end if self.tested_at is None else self.tested_at) - self.began


def _text(case: Program | Drawn | Related) -> str:
    return repr(case.program if isinstance(case, Drawn) else case)
