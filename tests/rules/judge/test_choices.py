"""Choices: outcomes are counted where the rules allow several, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from autograd_conformance.checking.check import Check
from autograd_conformance.checking.counts.tally import Tally
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.rules.judge.choices import RETURNS
from evaluation.mutants.mutant import Mutant

STALE = "a = leaf [1, 2]; b = sin a; no_grad: write a add_ b; backward b with [1, 1]"


class Copies(Mutant):
    """A framework whose ops save copies: a write never harms what was recorded."""

    def apply(self, op: str, operands: Any, attrs: Any) -> Any:
        return super().apply(op, [x.clone() for x in operands], attrs)


@pytest.mark.parametrize(("framework", "chosen"), [(Torch(), "modified in place"), (Copies(), RETURNS)])
def test_an_error_or_the_recorded_values_are_a_choice(framework: Torch, chosen: str) -> None:
    check = Check(InProcess(framework))
    check(parse(STALE, VOCABULARY))
    ((found, count),) = check.choices.items()
    assert (found.instruction, found.chosen, count) == ("backward", chosen, 1)
    assert {outcome for outcome, _ in found.allowed} == {RETURNS, "modified in place"}
    tally = check.tally()
    assert Tally.from_json(tally.to_json()) == tally and tally.choices == check.choices


def test_a_single_allowed_outcome_is_no_choice() -> None:
    check = Check(InProcess(Torch()))
    check(parse("a = leaf 3; b = multiply a a; backward b; backward b", VOCABULARY))
    assert not check.choices
