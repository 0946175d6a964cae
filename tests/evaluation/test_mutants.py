"""The suite kills mutants within the quick profile, reports the violated rule, and shrinks to a short program.

As a control, the same search finds nothing in a framework without a fault. The tests use a fixed sample of mutants of
each family; `python -m evaluation.mutants` runs all.
"""

from __future__ import annotations

import zlib
from itertools import chain

import pytest

from autograd_conformance.rules.catalogue import RULES
from evaluation.mutants import FAMILIES, MUTANTS, mutants_of
from evaluation.mutants.kill import kill
from evaluation.mutants.mutant import Honest, Mutant
from evaluation.mutants.probes import QUICK
from evaluation.mutants.regions import HONEST

EACH = 2
"""Number of mutants of each family in the sample: those whose names have the smallest checksums."""


def sample() -> list[str]:
    """The names of the sample's mutants."""
    families = (sorted(m.name for m in mutants_of(family)) for family in FAMILIES)
    chosen = (sorted(names, key=lambda name: zlib.crc32(name.encode()))[:EACH] for names in families)
    return list(chain.from_iterable(chosen))


@pytest.mark.parametrize("name", sample())
def test_killed(name: str) -> None:
    mutant = MUTANTS[name]
    found = kill(mutant)
    assert found is not None, f"not killed: {mutant.fault}"
    assert found.rule in mutant.killed_by, f"{found.rule}, {found.violation.observed_text()}\n{found.text}"
    assert len(found.program) <= mutant.longest, found.text
    assert mutant.flaky or not found.flaky


@pytest.mark.slow
@pytest.mark.parametrize("honest", [Honest, *HONEST])
def test_no_false_alarm(honest: type[Mutant]) -> None:
    found = kill(honest, QUICK // 3)
    assert found is None, f"{found.rule}, {found.violation.observed_text()}\n{found.text}"


def test_names_are_unique() -> None:
    assert len(MUTANTS) == sum(len(mutants_of(family)) for family in FAMILIES)


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS)
def test_is_described(mutant: type[Mutant]) -> None:
    assert mutant.fault.endswith(".")
    assert set(mutant.killed_by) <= set(RULES)
    assert mutant.longest <= 10 or mutant.why_long
    assert not mutant.flaky or mutant.__module__.endswith("process_state")
