"""Draws programs from all tests of the suites, and crossed programs, without running them, and yields those with a new
interaction.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings

from autograd_conformance.checking.check import Check
from autograd_conformance.checking.session import FrameworkUnderTest, Settings
from autograd_conformance.interactions.meetings import meetings
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.language import Program
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.alphabet import CORE
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.unsupported import Unsupported
from autograd_conformance.strategies.crossing.drawing import Crossing
from evaluation.mutants.probes import Probe, probes

OPS = CORE[:6]
"""The ops whose own tests are drawn from, in place of all ops, since facts name only the class of an op."""


@dataclass
class Recording(Check):
    """A check that keeps the programs in which facts meet that did not meet before, and runs none."""

    new: list[Program] = field(default_factory=list)
    """The programs with a new interaction that nobody has taken yet."""

    def __call__(self, case: Program | Drawn | Related) -> None:
        match case:
            case Related(first=first, second=second):
                programs = (first, second)
            case Drawn(program):
                programs = (program,)
            case _:
                programs = (case,)
        self.programs += 1
        for program in programs:
            found = {*meetings(program)} - self.reported
            if found:
                self.reported |= found
                self.new.append(program)


def drawn(examples: int, seed: int, crossings: int) -> Iterator[tuple[int, Program]]:
    """Yields programs in which facts meet that did not meet in an earlier one, each with the number of programs that
    were drawn so far. `examples` is the number of programs per rule, `crossings` that of further crossed programs.
    """
    warnings.simplefilter("ignore")
    framework = FrameworkUnderTest(Settings("torch"))
    framework.prepare()
    check = Recording(framework.target)
    for probe in probes((), OPS, examples):
        draw(probe, check, seed)
        yield from ((check.programs, program) for program in check.new)
        check.new.clear()
    random = Random(seed)
    for made in (Crossing(random).drawn() for _ in range(crossings)):
        if made is not None:
            check(made)
    yield from ((check.programs, program) for program in check.new)


def lines_of(examples: int, crossings: int, seed: int) -> tuple[list[str], int]:
    """Returns the drawn programs with new interactions as lines of JSON, and the number of all drawn programs."""
    count, lines = 0, []
    for number, program in drawn(examples, seed, crossings):
        count = number
        lines.append(codec.dumps(program))
    return lines, count


def draw(probe: Probe, check: Check, seed: int) -> None:
    """Draws the programs of one test, and passes each to a check."""

    @hypothesis.seed(seed)
    @settings(
        max_examples=probe.examples, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(**probe.strategies)
    def run(**values: Any) -> None:
        probe.body(check, **values)

    with suppress(Unsupported), alphabet.using(alphabet.current()):
        run()
