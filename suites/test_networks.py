"""Networks by modules: their gradients, and the same networks computed op by op."""

from __future__ import annotations

import pytest
from hypothesis import given

from rules.language import Program
from rules.relating import Related
from strategies.networks import pairs
from strategies.situations import networks

rule = pytest.mark.rule


@rule("networks/gradient")
@given(program=networks.single())
def test_single_calls(check, program: Program):
    check(program)


@rule("networks/gradient")
@given(program=networks.several())
def test_several_calls(check, program: Program):
    check(program)


@rule("networks/gradient")
@given(program=networks.chained())
def test_chained(check, program: Program):
    check(program)


@rule("networks/module")
@given(related=pairs.modules())
def test_modules(check, related: Related):
    check(related)
