"""The suite kills mutants within the quick profile, reports the violated rule, and shrinks to a short program.

As a control, the same search finds nothing in a framework without a fault. The tests use a fixed sample of mutants of
each family; `python -m evaluation.mutants` runs all.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import pytest

from autograd_conformance.rules.catalogue import RULES
from evaluation.mutants import FAMILIES, MUTANTS, mutants_of
from evaluation.mutants.batches import HonestOverVmap, HonestPerSample
from evaluation.mutants.forward import HonestForward
from evaluation.mutants.kill import kill
from evaluation.mutants.mutant import Faulty, Honest
from evaluation.mutants.probes import QUICK
from evaluation.mutants.regions import HONEST
from evaluation.mutants.saved import HonestPacking

RARELY_WRONG = frozenset({"mutants/wrong-after-five-actions"})
"""Names of mutants that take half a minute to kill."""


def sample() -> Iterator[object]:
    """The names of two mutants of each family: those with the smallest checksums; the second is for the slow tests, and
    the first of three families in four, since the kill matrix's sample runs beside them.
    """
    for at, family in enumerate(FAMILIES):
        names = sorted((m.name for m in mutants_of(family)), key=lambda name: zlib.crc32(name.encode()))[:2]
        first, second = sorted(names, key=RARELY_WRONG.__contains__)
        yield pytest.param(first, marks=[pytest.mark.slow] * bool(at % 4))
        yield pytest.param(second, marks=pytest.mark.slow)


@pytest.mark.parametrize("name", sample())
def test_killed(name: str) -> None:
    mutant = MUTANTS[name]
    found = kill(mutant)
    assert found is not None, f"not killed: {mutant.fault}"
    assert found.rule in mutant.killed_by, f"{found.rule}, {found.violation.observed_text()}\n{found.text}"
    assert len(found.program) <= mutant.longest, found.text
    assert mutant.flaky or not found.flaky


@pytest.mark.slow
@pytest.mark.parametrize("honest", [Honest, HonestForward, HonestPerSample, HonestOverVmap, HonestPacking, *HONEST])
def test_no_false_alarm(honest: type[Faulty]) -> None:
    found = kill(honest, QUICK // 3)
    assert found is None, f"{found.rule}, {found.violation.observed_text()}\n{found.text}"


def test_names_are_unique() -> None:
    assert len(MUTANTS) == sum(len(mutants_of(family)) for family in FAMILIES)


def test_each_is_described() -> None:
    for name, mutant in MUTANTS.items():
        assert mutant.fault.endswith("."), name
        assert set(mutant.killed_by) <= set(RULES), name
        assert mutant.longest <= 10 or mutant.why_long, name
        assert not mutant.flaky or mutant.__module__.endswith("process_state"), name
