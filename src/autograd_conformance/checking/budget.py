"""The budget of a run: at most so many programs, or so many seconds, shared out among its tests.

What a test needs comes first: the programs by which its rule is really tested. What is left beyond that is shared out
in proportion to the programs that the profile gives to each test, so that a run that has less than the profile asks for
still tests every rule, and one that has far less tries every one. A test whose share ends is cut short: it says so, and
a rule that is not really tested by then is vacuous. A failure that was found is still told, though shrunk no further.
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
    """A test's share of the budget has ended; Hypothesis and pytest both stop a test at this."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What a test asks for."""

    programs: float
    """How many programs its profile gives it; none where it does not apply."""
    first: float
    """Of these, how many any test has to have before others have more."""


@dataclass(slots=True)
class Share:
    """What one test may take."""

    programs: float
    """How many programs."""
    until: float
    """When it has to end, on the monotonic clock."""
    first_until: float = -math.inf
    """When it has to end if its rule is not really tested by then: not before `until`."""

    def spent(self, programs: int, tested: bool = True) -> bool:
        """Whether nothing is left after so many programs, by which its rule is really tested, or not."""
        if programs >= self.programs:
            return True
        return time.monotonic() >= (self.until if tested else max(self.until, self.first_until))


class Budget:
    """What is left of the limits for the tests of one process, of several that share them."""

    def __init__(self, limits: Limits, processes: int, demands: Sequence[Demand]) -> None:
        """`demands` says, test by test of the whole run, what each asks for."""
        self.limits, self.processes, self.demands = limits, processes, demands
        self.left = math.inf if limits.programs is None else limits.programs / processes
        self.rest = _suffix_sums([each.programs for each in demands])
        """How many programs each test and all behind it ask for."""
        self.needs = _suffix_sums([each.first for each in demands])
        """How many of these come first."""
        self.taken, self.took = 0.0, 0.0
        """How many programs came first so far, and how many seconds they took."""

    def share(self, test: int) -> Share:
        """What a test may take, by its number in the run."""
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
        behind = (self.needs[test] - self.demands[test].first) / self.processes
        reserved = behind * self.took / self.taken if self.taken else 0.0
        now = time.monotonic()
        return now + part * max(0.0, seconds - reserved), now + first * seconds

    def used(self, test: int, programs: int, seconds: float) -> None:
        """A test ran so many programs, and took so many seconds until its rule was really tested, or it ended."""
        self.left = max(0.0, self.left - programs)
        self.taken += self.demands[test].first
        self.took += seconds


def _suffix_sums(numbers: Sequence[float]) -> list[float]:
    """For each number, the sum of it and of all behind it."""
    return list(accumulate(reversed(numbers)))[::-1]


@dataclass
class BoundedCheck(Check):
    """A check that ends with its test's share of the budget."""

    share: Share = field(default_factory=lambda: Share(math.inf, math.inf))
    """What the test may take."""
    enough: float = 0
    """How often its rule has to be put to the test for it to be really tested."""
    cut: bool = False
    """Whether the test had to end before it was through."""
    failing: set[str] = field(default_factory=set)
    """The programs that broke a rule: Hypothesis shows what it found once more, and has to see it again."""
    began: float = field(default_factory=time.monotonic)
    """When the test began, on the monotonic clock."""
    tested_at: float | None = None
    """When its rule was really tested; None until then."""

    @classmethod
    def of(cls, check: Check, share: Share, enough: float = 0) -> BoundedCheck:
        """The same check, which ends with a share; its rule is to be put to the test so often before."""
        return cls(**{each.name: getattr(check, each.name) for each in fields(Check)}, share=share, enough=enough)

    def __call__(self, case: Program | Drawn | Related) -> None:
        if self.share.spent(self.programs, self.tested_at is not None):
            self.cut = True
            if not self.failing:
                raise Spent("its share of the budget ended")
            if _text(case) not in self.failing:
                return  # what was found is shrunk no further
        try:
            super().__call__(case)
        except RuleViolated:
            self.failing.add(_text(case))
            raise
        finally:
            if self.tested_at is None and self._is_tested():
                self.tested_at = time.monotonic()

    def _is_tested(self) -> bool:
        """Whether the test's rule is really tested, as far as that is this test's doing."""
        return self.rule is None or self.exercised[self.rule] >= self.enough

    @property
    def first_seconds(self) -> float:
        """How many seconds went by until the test's rule was really tested, or the test ended, or was to end."""
        end = min(time.monotonic(), max(self.share.until, self.share.first_until))
        return (end if self.tested_at is None else self.tested_at) - self.began


def _text(case: Program | Drawn | Related) -> str:
    return repr(case.program if isinstance(case, Drawn) else case)
