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
    "zoo/diamond-once": "the diagnosis drops an op's contributions one by one, not together",
    "zoo/root-once": "no diagnosis of a root listed twice",
    "zoo/cotangent-summed": "no diagnosis of a cotangent's sum",
    "zoo/equal-leaves-merged": "no diagnosis of equal leaves",
    "zoo/equal-leaves-swapped": "the diagnosis looks at one leaf at a time",
    "zoo/deep-ends": "long chains are hardly ever drawn; a zero is taken for a leaking detach",
    "zoo/saturated-sigmoid": "ten programs of an op are too few to meet every value, every time",
    "zoo/sin-flipped": "one op's wrong sign is taken for a contribution that was subtracted",
    "zoo/matmul-transposed": "the diagnosis names the graph, where one op stands alone",
    "zoo/detach-leaks": "at ones a leak looks like a contribution that was added twice",
    "zoo/detaches-source": "the judge names errors/legal-returns",
    "zoo/refusal-frees": "the judge names lifetime/retained-works",
    "zoo/shares-gradient": "the situation joins two branches by three ops",
    "zoo/frees-whole-graph": "the situation joins two branches by three ops",
    "zoo/tears-gradients": "the situation joins three branches by five ops",
    "zoo/failure-clears": "the situation joins three branches by five ops",
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
