"""Networks by modules: their gradients, and the same networks computed op by op."""

from __future__ import annotations

import pytest
from autograd_conformance.programs.language import Program
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.strategies.relations import networks as pairs
from autograd_conformance.strategies.situations import networks
from hypothesis import given

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
