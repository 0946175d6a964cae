"""The suite catches every member of the zoo within the quick profile, names the broken rule, and shows a short program.

And the control: the same hunt finds nothing in a framework that tells no lie.
"""

from __future__ import annotations

import pytest

from rules.catalogue import RULES
from tests.zoo import ZOO
from tests.zoo.hunting import QUICK, hunt
from tests.zoo.kit import Honest, Member


@pytest.mark.parametrize("name", list(ZOO))
def test_caught(name: str) -> None:
    member = ZOO[name]
    catch = hunt(member)
    assert catch is not None, f"not caught: {member.lie}"
    assert catch.rule in member.caught_by, f"{catch.rule}, {catch.violation.observed}\n{catch.text}"
    assert len(catch.program) <= member.longest, catch.text
    assert member.flaky or not catch.flaky


@pytest.mark.parametrize("seed", range(2))
def test_no_false_alarm(seed: int) -> None:
    catch = hunt(Honest, QUICK, seed)
    assert catch is None, f"{catch.rule}, {catch.violation.observed}\n{catch.text}"


@pytest.mark.parametrize("member", ZOO.values(), ids=ZOO)
def test_is_described(member: type[Member]) -> None:
    assert member.lie.endswith(".")
    assert set(member.caught_by) <= set(RULES)
    assert not member.flaky or member.__module__.endswith("history")
