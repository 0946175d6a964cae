"""Recurrent networks: whole sequences, packed ones, and sequences in parts that carry their state over."""

from __future__ import annotations

import pytest
from hypothesis import given

from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.relations import networks as relations
from autograd_conformance.strategies.situations import recurrent

rule = pytest.mark.rule


@rule("recurrent/gradient")
@given(drawn=recurrent.single())
def test_single_calls(check, drawn: Drawn):
    check(drawn)


@rule("recurrent/gradient")
@given(drawn=recurrent.several())
def test_several_calls(check, drawn: Drawn):
    check(drawn)


@rule("recurrent/gradient")
@given(drawn=recurrent.partial_roots())
def test_partial_roots(check, drawn: Drawn):
    check(drawn)


@rule("gradients/graph")
@given(drawn=recurrent.composed())
def test_composed(check, drawn: Drawn):
    check(drawn)


@rule("recurrent/module")
@given(related=relations.recurrent_modules())
def test_modules(check, related: Related):
    check(related)


@rule("recurrent/packed")
@given(related=relations.packed())
def test_packed(check, related: Related):
    check(related)


@rule("recurrent/detached-state")
@given(drawn=recurrent.detached_states())
def test_detached_states(check, drawn: Drawn):
    check(drawn)


@rule("recurrent/carried-state")
@given(drawn=recurrent.carried_states())
def test_carried_states(check, drawn: Drawn):
    check(drawn)
