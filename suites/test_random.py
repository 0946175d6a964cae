"""Random ops: what the framework's generator draws is observed; all the rest has to follow from it."""

from __future__ import annotations

import pytest
from hypothesis import given

from rules.language import Program
from strategies.situations import chance

rule = pytest.mark.rule


@rule("networks/random")
@given(program=chance.dropped())
def test_dropout(check, program: Program):
    check(program)


@rule("networks/random")
@given(program=chance.noisy())
def test_noise(check, program: Program):
    check(program)
