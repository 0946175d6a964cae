"""The suite catches members of the zoo within the quick profile, names the broken rule, and shows a short program.

And the control: the same hunt finds nothing in a framework that tells no lie. Here a fixed sample is hunted, some
members of each family; `python -m tests.mutants` hunts them all.
"""

from __future__ import annotations

import zlib
from itertools import chain

import pytest
from autograd_conformance.rules.catalogue import RULES, Level

from tests.mutants import FAMILIES, ZOO, members_of
from tests.mutants.hunting import QUICK, TORCH, hunt
from tests.mutants.kit import Honest, Member

EACH = 3
"""Members of each family in the sample: those whose names have the smallest checksums."""


def sample() -> list[str]:
    """The names of the members that are hunted here."""
    families = (sorted(m.name for m in members_of(family)) for family in FAMILIES)
    chosen = (sorted(names, key=lambda name: zlib.crc32(name.encode()))[:EACH] for names in families)
    return list(chain.from_iterable(chosen))


@pytest.mark.parametrize("name", sample())
def test_caught(name: str) -> None:
    member = ZOO[name]
    catch = hunt(member)
    assert catch is not None, f"not caught: {member.lie}"
    assert catch.rule in member.caught_by, f"{catch.rule}, {catch.violation.observed}\n{catch.text}"
    assert len(catch.program) <= member.longest, catch.text
    assert member.flaky or not catch.flaky


@pytest.mark.parametrize("seed", range(2))
def test_no_false_alarm(seed: int) -> None:
    catch = hunt(Honest, QUICK // 3, seed)
    assert catch is None, f"{catch.rule}, {catch.violation.observed}\n{catch.text}"


def test_names_are_unique() -> None:
    assert len(ZOO) == sum(len(members_of(family)) for family in FAMILIES)


def test_every_rule_has_its_liars() -> None:
    named = set(chain.from_iterable(member.caught_by for member in ZOO.values()))
    named |= {entry.rule for entry in TORCH}  # what PyTorch breaks itself is no lie of a member
    assert {slug for slug, rule in RULES.items() if rule.level is not Level.INFO} <= named


@pytest.mark.parametrize("member", ZOO.values(), ids=ZOO)
def test_is_described(member: type[Member]) -> None:
    assert member.lie.endswith(".")
    assert set(member.caught_by) <= set(RULES)
    assert member.longest <= 10 or member.why_long
    assert not member.flaky or member.__module__.endswith("history")
