"""The budget of a run: at most so many programs, or so many seconds, shared out among its tests.

Every test gets a share of what is left, in proportion to the programs that its profile gives it, so that a run that
has less than the profile asks for still tries every rule. A test whose share ends is cut short: it says so, and a rule
that is not really tested by then is vacuous. A failure that was found is still told, though shrunk no further.
"""

from __future__ import annotations

import math
import time
import unittest
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from itertools import accumulate

from autograd_conformance.harness.check import Broken, Check
from autograd_conformance.harness.limits import Limits
from autograd_conformance.programs.language import Program
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.strategies.building.drawn import Drawn


class Spent(unittest.SkipTest):
    """A test's share of the budget has ended; Hypothesis and pytest both stop a test at this."""


@dataclass(slots=True)
class Share:
    """What one test may take."""

    programs: float
    """How many programs."""
    until: float
    """When it has to end, on the monotonic clock."""

    def spent(self, programs: int) -> bool:
        """Whether nothing is left after so many programs."""
        return programs >= self.programs or time.monotonic() >= self.until


class Budget:
    """What is left of the limits for the tests of one process, of several that share them."""

    def __init__(self, limits: Limits, processes: int, weights: Sequence[float]) -> None:
        """`weights` says, test by test of the whole run, how much of the budget each is to have."""
        self.limits, self.processes, self.weights = limits, processes, weights
        self.left = math.inf if limits.programs is None else limits.programs / processes
        self.rest = list(accumulate(reversed(weights)))[::-1]
        """The weight of each test and all behind it."""

    def share(self, test: int) -> Share:
        """What a test may take, by its number in the run."""
        part = min(1.0, self.weights[test] * self.processes / max(self.rest[test], 1e-9))
        seconds = self.limits.seconds_left()
        until = math.inf if seconds is None else time.monotonic() + part * seconds
        return Share(self.left if math.isinf(self.left) else math.floor(self.left * part + 0.5), until)

    def used(self, programs: int) -> None:
        """A test ran so many programs."""
        self.left = max(0.0, self.left - programs)


@dataclass
class BoundedCheck(Check):
    """A check that ends with its test's share of the budget."""

    share: Share = field(default_factory=lambda: Share(math.inf, math.inf))
    """What the test may take."""
    cut: bool = False
    """Whether the test had to end before it was through."""
    failing: set[str] = field(default_factory=set)
    """The programs that broke a rule: Hypothesis shows what it found once more, and has to see it again."""

    @classmethod
    def of(cls, check: Check, share: Share) -> BoundedCheck:
        """The same check, which ends with a share."""
        return cls(**{each.name: getattr(check, each.name) for each in fields(Check)}, share=share)

    def __call__(self, case: Program | Drawn | Related) -> None:
        if self.share.spent(self.programs):
            self.cut = True
            if not self.failing:
                raise Spent("its share of the budget ended")
            if _text(case) not in self.failing:
                return  # what was found is shrunk no further
        try:
            super().__call__(case)
        except Broken:
            self.failing.add(_text(case))
            raise


def _text(case: Program | Drawn | Related) -> str:
    return repr(case.program if isinstance(case, Drawn) else case)
