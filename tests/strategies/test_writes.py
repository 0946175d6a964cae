"""Tests which in-place ops have a separate test, by what is listed, found or missing out of place."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import Phase, given, seed, settings

from autograd_conformance.programs.language import InPlace
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.building.unsupported import Unsupported, UnsupportedOp
from autograd_conformance.strategies.situations import writes

HARDSWISH = frozenset({"hardswish"})


def draw(usable: alphabet.Alphabet, write: str) -> list[Drawn]:
    """Returns four programs of the test of an in-place op, drawn from an alphabet."""
    found: list[Drawn] = []

    @seed(0)
    @settings(database=None, deadline=None, max_examples=4, phases=[Phase.generate])
    @given(drawn=writes.single_writes(write))
    def collect(drawn: Drawn) -> None:
        found.append(drawn)

    with alphabet.using(usable):
        collect()
    return found


@pytest.mark.parametrize(
    "usable",
    [
        replace(alphabet.EVERYTHING.without(HARDSWISH), excluded=HARDSWISH, listed=HARDSWISH),
        alphabet.EVERYTHING.without(HARDSWISH),
    ],
    ids=["known difference", "missing"],
)
def test_an_op_is_tested_in_place_though_no_program_has_it_out_of_place(usable: alphabet.Alphabet):
    for drawn in draw(usable, "hardswish_"):
        assert any(isinstance(step, InPlace) and step.op == "hardswish_" for step in drawn.program)


def test_an_op_that_breaks_a_rule_is_not_tested_in_place_and_is_not_missing():
    usable = replace(alphabet.EVERYTHING.without(HARDSWISH), excluded=HARDSWISH)
    with pytest.raises(UnsupportedOp, match="hardswish breaks a rule even out of place") as raised:
        draw(usable, "hardswish_")
    assert not raised.value.is_missing


def test_an_in_place_op_that_the_framework_does_not_have_is_missing():
    usable = replace(alphabet.EVERYTHING, writes=("mul_",))
    with pytest.raises(Unsupported, match="the framework has no hardswish_") as raised:
        draw(usable, "hardswish_")
    assert not isinstance(raised.value, UnsupportedOp)
