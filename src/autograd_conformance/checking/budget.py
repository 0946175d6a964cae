"""The budget of a run: a maximum number of programs or seconds, shared among its tests.

Tests run stage by stage. Each test first gets the programs that its rule needs to count as tested; if there are too few
for all, earlier stages come first, so that a small budget has a verdict on these. The rest is spread over the stages,
then over the rules of a stage. What later tests are not expected to use is for the test that runs, so that a budget
that suffices for a run cuts nothing. A test whose share ends is cut short, and its result says so; a rule that was
tested by too few programs until then has the verdict "vacuous". A violation found before is still reported, as short
as it is by then.
"""

from __future__ import annotations

import math
import time
import unittest
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import accumulate, groupby

from autograd_conformance.checking.check import Check
from autograd_conformance.checking.limits import Limits
from autograd_conformance.programs.language import Program
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.strategies.building.drawn import Drawn


class Spent(unittest.SkipTest):
    """Ends a test whose share of the budget is spent, or whose failure is not shrunk. Hypothesis and pytest both end a
    test at this exception, even while Hypothesis shrinks a failure.
    """


@dataclass(frozen=True, slots=True)
class Demand:
    """The number of programs that a test requests, and how many of these come first."""

    programs: float
    """Number of programs that the profile gives to the test; 0 if the test does not apply to the framework."""
    first: float
    """Number of these programs that every test gets before any test gets more."""
    weight: float | None = None
    """Part of the test in what is left after these, in any unit; None: in proportion to `programs`."""
    stage: int = 0
    """Number of the stage that the test belongs to. Tests of one stage follow each other."""


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


@dataclass(frozen=True, slots=True, order=True)
class CutTest:
    """How far a test came before its share ended."""

    exercised: int
    """Number of programs that exercised the test's rule."""
    programs: int
    """Number of programs that the test ran."""
    seconds: float
    """Seconds that the test took."""

    def comes_farther(self, share: Share) -> bool:
        """Returns whether the test, begun again with a share, probably runs half as many programs more."""
        return share.programs >= MORE * self.programs and share.until - time.monotonic() >= MORE * self.seconds


@dataclass(frozen=True, slots=True)
class _Stage:
    """The time that the tests of one stage have in one process, on the monotonic clock."""

    began: float
    """Start of the stage's first test in this process."""
    until: float
    """Deadline of the stage."""
    first_until: float
    """Deadline of the stage's tests until their rules count as tested, if that is later than `until`."""


MORE = 1.5
"""A test runs again only if its new share is this many times what it used before."""

CLIMB = 0.5
"""Largest fraction of the remaining seconds that a stage may use until its rules count as tested."""

PRUDENCE = 1.5
"""Number of times longer than programs took until now that a program of a later test is expected to take."""


class Budget:
    """The remaining budget of one process, if several processes share the limits of a run."""

    def __init__(self, limits: Limits, processes: int, demands: Sequence[Demand]) -> None:
        """Takes the demand of each test of the whole run, in the order of the tests, as `demands`."""
        self.limits, self.processes, self.demands = limits, processes, demands
        self.left = math.inf if limits.programs is None else limits.programs / processes
        weights = [each.programs if each.weight is None else each.weight for each in demands]
        firsts, stages = [each.first for each in demands], [each.stage for each in demands]
        programs = [each.programs for each in demands]
        self.weights, self.begins = weights, _beginnings(stages)
        self.rest, self.stage_rest = _suffix_sums(weights), _suffix_sums(weights, stages)
        """For each test, the sum of the weights of this test and all later ones: of the run, and of the test's
        stage.
        """
        self.needs, self.stage_needs = _suffix_sums(firsts), _suffix_sums(firsts, stages)
        """For each test, the number of programs that this test and all later ones request to come first: in the run,
        and in the test's stage.
        """
        self.taken, self.took = 0.0, 0.0
        """Number of first programs that the finished tests requested, and the seconds that these tests took for those
        programs.
        """
        self.later = [total - each.programs for total, each in zip(_suffix_sums(programs), demands, strict=True)]
        """For each test, the number of programs that the profile gives to all later tests."""
        self.ran, self.began = 0, time.monotonic()
        """Number of programs of the finished tests, and when the first test could start, on the monotonic clock."""
        self._stages: dict[int, _Stage] = {}

    def share(self, test: int) -> Share:
        """Returns the share of a test, given the test's position in the run."""
        first = min(1.0, self.demands[test].first * self.processes / max(self.stage_needs[test], 1e-9))
        return Share(self._programs(test, first), *self._seconds(test, first))

    def _programs(self, test: int, first: float) -> float:
        """Returns the number of programs of a test, whose part of the first programs of its stage is `first`."""
        if math.isinf(self.left):
            return self.left
        part = min(1.0, self.weights[test] * self.processes / max(self.rest[test], 1e-9))
        more = self.left - self.needs[test] / self.processes
        wanted = self.demands[test].first
        if more > 0:
            share = wanted + part * more
        else:  # too few for the first programs of all tests: this stage comes before later ones
            share = min(wanted, first * self.left)
        unused = self.left - self.later[test] / self.processes
        return math.floor(min(max(share, min(unused, self.demands[test].programs)), self.left) + 0.5)

    def _seconds(self, test: int, first: float) -> tuple[float, float]:
        """Returns the deadlines of a test, whose part of the first programs of its stage is `first`."""
        seconds = self.limits.seconds_left()
        if seconds is None:
            return math.inf, math.inf
        now = time.monotonic()
        stage = self._stage(test, now, seconds)
        unused = seconds - self._expected(test, now)
        if unused > 0:
            return now + unused, now + unused
        if self._is_late(test, stage, now):
            return now, now
        part = min(1.0, self.weights[test] * self.processes / max(self.stage_rest[test], 1e-9))
        later = (self.needs[test] - self.demands[test].first) / self.processes
        reserved = later * self.took / self.taken if self.taken else 0.0
        free = min(stage.until - now, seconds - reserved)
        return now + part * max(0.0, free), now + first * max(0.0, stage.first_until - now)

    def _expected(self, test: int, now: float) -> float:
        """Returns the seconds that the tests after a test are expected to take in this process; infinity before any
        program ran.
        """
        if not self.ran:
            return math.inf
        return PRUDENCE * (now - self.began) / self.ran * self.later[test] / self.processes

    def _stage(self, test: int, now: float, seconds: float) -> _Stage:
        """Returns the time of a test's stage, which begins with its first test in this process."""
        at = self.begins[test]
        if at not in self._stages:
            later = self.rest[at] - self.stage_rest[at]
            part = self.stage_rest[at] / self.rest[at] if later else 1.0
            begun = now + part * seconds
            self._stages[at] = _Stage(now, begun, now + max(part, CLIMB) * seconds)
        return self._stages[at]

    def _is_late(self, test: int, stage: _Stage, now: float) -> bool:
        """Returns whether earlier tests of a stage have used the time of this test, because a single program takes
        longer than the time of a test. The test is then left out, so that later tests of the stage run. Where the time
        suffices for the first programs of all tests that are left, none is late: a failure took the time.
        """
        needs, left = self.stage_needs[self.begins[test]], self.stage_needs[test] / self.processes
        if not needs or len(self.demands) == 1:
            return False
        if self.taken and PRUDENCE * self.took / self.taken * left <= stage.first_until - now:
            return False
        done = 1 - (self.stage_needs[test] - self.demands[test].first) / needs
        return now > stage.began + done * (stage.first_until - stage.began)

    def used(self, test: int, programs: int, seconds: float) -> None:
        """Records that a test has finished: its programs, and the seconds until its rule was tested or the
        test ended.
        """
        self.left = max(0.0, self.left - programs)
        self.ran += programs
        self.taken += self.demands[test].first
        self.took += seconds


def _suffix_sums(numbers: Sequence[float], stages: Sequence[int] = ()) -> list[float]:
    """Returns for each number the sum of this number and all later ones, of the same stage if `stages` are given:
    [1, 2, 3] gives [6, 5, 3], and [3, 2, 3] with the stages [0, 0, 1].
    """
    if not stages:
        return list(accumulate(reversed(numbers)))[::-1]
    runs = groupby(zip(numbers, stages, strict=True), key=lambda each: each[1])
    return [total for _, run in runs for total in _suffix_sums([number for number, _ in run])]


def _beginnings(stages: Sequence[int]) -> list[int]:
    """Returns for each test the position of the first test of its stage: [0, 0, 2] for the stages [0, 0, 1]."""
    found: list[int] = []
    for at, stage in enumerate(stages):
        found.append(found[-1] if at and stage == stages[at - 1] else at)
    return found


@dataclass
class BoundedCheck(Check):
    """A check that ends when its test's share of the budget is spent."""

    share: Share = field(default_factory=lambda: Share(math.inf, math.inf))
    """The programs and the time that the test may use."""
    enough: float = 0
    """Number of times that the rule has to be exercised to count as tested."""
    cut: bool = False
    """Whether the share ended before the test did."""
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
            raise Spent("the test's share of the budget ended")
        try:
            super().__call__(case)
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
