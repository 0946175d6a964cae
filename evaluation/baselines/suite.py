"""The suite itself as a baseline, with its costs counted in the same way.

A sweep has one program for each op and two for each test, each judged as in the suites.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import chain, islice
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from autograd_conformance.checking.audit import programs as audit
from autograd_conformance.checking.check import Check, RuleViolated
from autograd_conformance.checking.seeding import BACKEND
from autograd_conformance.checking.session import FrameworkUnderTest, Settings
from autograd_conformance.frameworks.pytorch.eager import TorchEager
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.programs.dtypes import USUAL
from autograd_conformance.programs.language import Apply, Program
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.unsupported import Unsupported
from autograd_conformance.suites.test_higher_ops import passes_lower_orders
from evaluation.mutants.kill import TORCH
from evaluation.mutants.probes import tests
from tests.strategies.census import programs_of

EACH = 2
"""Number of programs of each test in a sweep."""

Complaint = tuple[frozenset[str], Callable[[TorchEager], bool]]


def cases(number: int, ops: tuple[str, ...]) -> Iterator[Complaint]:
    """The cases of a sweep, in random order."""
    made = [*_by_op(number, ops), *_by_test(number)]
    random.Random(number).shuffle(made)
    yield from made


def _by_op(number: int, ops: tuple[str, ...]) -> Iterator[Complaint]:
    for op in ops:
        program = _fixed(op, number) or audit.sample(op, 7000 + number, USUAL[number % 2])
        if program is not None:
            yield frozenset({op}), _judged(program)


def _fixed(op: str, number: int) -> Program | None:
    """The program of a number among those that every run checks for an op; None past the last."""
    made, more = _begun(op)
    made += islice(more, max(0, number + 1 - len(made)))
    return made[number] if number < len(made) else None


@lru_cache(maxsize=None)
def _begun(op: str) -> tuple[list[Program], Iterator[Program]]:
    twice = (program for program in audit.curvatures(op, USUAL[::-1]) if passes_lower_orders(program, op, _torch()))
    return [], chain(audit.programs(op, USUAL[::-1]), twice)


@lru_cache(maxsize=1)
def _torch() -> FrameworkUnderTest:
    return FrameworkUnderTest(Settings("torch"))


def _judged(program: Program) -> Callable[[TorchEager], bool]:
    def complains(mutant: TorchEager) -> bool:
        check = Check(InProcess(mutant), known=TORCH)
        return _raises(lambda: check(program))

    return complains


def _by_test(number: int) -> Iterator[Complaint]:
    for probe in tests():
        if not RULES[probe.rule].needs <= frozenset(TorchEager.capabilities):
            continue
        for drawn in _drawn(probe.strategies, number):
            touched = frozenset[str]().union(*(_ops(value) for value in drawn.values()))
            yield touched, _tested(probe.body, drawn)


def _drawn(strategies: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """The values that a sweep draws for a test; none for tests that draw while they run."""
    found: list[dict[str, Any]] = []

    @hypothesis.seed(number)
    @settings(
        max_examples=EACH, backend=BACKEND, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.fixed_dictionaries(strategies))
    def draw(values: dict[str, Any]) -> None:
        if all(isinstance(value, Program | Drawn | Related) for value in values.values()):
            found.append(values)

    try:
        draw()
    except Unsupported:
        return []
    return found


def _ops(drawn: Program | Drawn | Related) -> frozenset[str]:
    return frozenset(step.op for program in programs_of(drawn) for step in program if isinstance(step, Apply))


def _tested(body: Callable[..., None], drawn: dict[str, Any]) -> Callable[[TorchEager], bool]:
    def complains(mutant: TorchEager) -> bool:
        return _raises(lambda: body(Check(InProcess(mutant), known=TORCH), **drawn))

    return complains


def _raises(check: Callable[[], None]) -> bool:
    try:
        check()
    except RuleViolated:
        return True
    return False
