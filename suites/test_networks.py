"""Networks: gradients of a framework's modules, compared with the reference and with the same network op by op."""

from __future__ import annotations

import pytest
from hypothesis import given

from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.relations import networks as relations
from autograd_conformance.strategies.situations import networks

rule = pytest.mark.rule


@rule("networks/gradient")
@given(drawn=networks.single())
def test_single_calls(check, drawn: Drawn):
    check(drawn)


@rule("networks/gradient")
@given(drawn=networks.several())
def test_several_calls(check, drawn: Drawn):
    check(drawn)


@rule("networks/gradient")
@given(drawn=networks.chained())
def test_chained(check, drawn: Drawn):
    check(drawn)


@rule("networks/module")
@given(related=relations.modules())
def test_modules(check, related: Related):
    check(related)
