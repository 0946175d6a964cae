"""The suite catches every member of the zoo within the quick profile, names the broken rule, and shows a short program.

And the control: the same hunt finds nothing in a framework that tells no lie.
"""

from __future__ import annotations

import pytest

from rules.catalogue import RULES
from tests.zoo import ZOO
from tests.zoo.hunting import QUICK, hunt
from tests.zoo.kit import Honest, Member

OPEN = {
    "zoo/equal-leaves-swapped": "the diagnosis looks at one leaf at a time",
    "zoo/use-once": "the diagnosis knows an op's contributions only together, not one by one",
    "zoo/saturated-sigmoid": "ten programs of an op are too few to meet every value, every time",
    "zoo/refuses-high-rank": "shrinking stops early in some runs",
    "zoo/deep-ends": "long chains are hardly ever drawn",
}
"""What the suite cannot do yet: members that it does not catch, names wrongly, or shows at length."""


def _marked(name: str) -> object:
    return pytest.param(name, marks=pytest.mark.xfail(reason=OPEN[name], strict=False)) if name in OPEN else name


@pytest.mark.parametrize("name", [_marked(name) for name in ZOO])
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
