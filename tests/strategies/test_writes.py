"""Tests which in-place ops have a separate test, by what is listed, found or missing out of place."""

from __future__ import annotations

import gc
from dataclasses import replace
from pathlib import Path

import hypothesis
import pytest
from hypothesis import Phase, given, seed, settings

from autograd_conformance.checking.audit.outcome import NOTHING_FOUND
from autograd_conformance.checking.session import Session, Settings
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


def test_ops_with_known_differences_are_listed_for_the_tests_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    used: list[alphabet.Alphabet] = []
    monkeypatch.setattr(alphabet, "use", used.append)
    for name in ("freeze", "set_threshold"):
        monkeypatch.setattr(gc, name, lambda *given: None)
    monkeypatch.setattr(hypothesis, "register_random", lambda generator: None)
    framework = Session.of(Settings("torch", tmp_path)).framework
    framework.adopt_audit(NOTHING_FOUND)
    framework.prepare()
    assert {"digamma", "polygamma"} <= used[0].listed & used[0].excluded
    assert {"hardswish", "elu"}.isdisjoint(used[0].excluded)
