"""The speed of each suite: programs per second of its tests in one process, without shrinking or reports."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from autograd_conformance.checking.check import Check, RuleViolated
from autograd_conformance.checking.seeding import BACKEND
from autograd_conformance.checking.session import FrameworkUnderTest
from autograd_conformance.known_differences import known
from autograd_conformance.programs.language import Program
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.unsupported import Unsupported
from evaluation.mutants.probes import Probe, tests


@dataclass(frozen=True, slots=True)
class Speed:
    """Number of programs of a suite's tests, seconds in total, and seconds in the checks of programs."""

    programs: int
    seconds: float
    checking: float

    @property
    def rate(self) -> float:
        """Programs per second."""
        return self.programs / self.seconds if self.seconds else 0.0


class _Timed(Check):
    """A check that measures its own time and ignores violations, so that no test ends early."""

    spent = 0.0

    def __call__(self, case: Program | Drawn | Related) -> None:
        began = time.perf_counter()
        try:
            super().__call__(case)
        except RuleViolated:
            pass
        finally:
            self.spent += time.perf_counter() - began


def suite_speeds(framework: FrameworkUnderTest, examples: int, start: int) -> Iterator[tuple[str, Speed]]:
    """The speed of each suite, measured on `examples` programs of each test."""
    programs, seconds, checking = Counter[str](), Counter[str](), Counter[str]()
    for probe in tests():
        suite = probe.name.partition("/")[0]
        if not RULES[probe.rule].needs <= framework.target.capabilities:
            continue
        check = _Timed(framework.target, known=known("torch", device="cpu"))
        began = time.perf_counter()
        _run(probe, check, examples, start)
        seconds[suite] += time.perf_counter() - began  # type: ignore[assignment]
        checking[suite] += check.spent  # type: ignore[assignment]
        programs[suite] += check.programs
    for suite in sorted(programs):
        yield suite, Speed(programs[suite], seconds[suite], checking[suite])


def _run(probe: Probe, check: Check, examples: int, start: int) -> None:
    @seed(start)
    @settings(
        max_examples=examples, backend=BACKEND, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(**probe.strategies)
    def body(**drawn: Any) -> None:
        probe.body(check, **drawn)

    try:
        body()
    except Unsupported:
        return
