"""Random ops: what the framework's generator draws is observed; all the rest has to follow from it."""

from __future__ import annotations

import pytest
from autograd_conformance.programs.language import Program
from autograd_conformance.strategies.situations import networks as chance
from hypothesis import given

rule = pytest.mark.rule


@rule("networks/random")
@given(program=chance.dropped())
def test_dropout(check, program: Program):
    check(program)


@rule("networks/random")
@given(program=chance.noisy())
def test_noise(check, program: Program):
    check(program)
