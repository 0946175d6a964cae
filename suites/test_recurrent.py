"""Recurrent networks: whole sequences, packed ones, and sequences in parts that carry their state over."""

from __future__ import annotations

import pytest
from autograd_conformance.programs.language import Program
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.strategies.relations import networks as pairs
from autograd_conformance.strategies.situations import recurrent
from hypothesis import given

rule = pytest.mark.rule


@rule("recurrent/gradient")
@given(program=recurrent.single())
def test_single_calls(check, program: Program):
    check(program)


@rule("recurrent/gradient")
@given(program=recurrent.several())
def test_several_calls(check, program: Program):
    check(program)


@rule("recurrent/gradient")
@given(program=recurrent.partial_roots())
def test_partial_roots(check, program: Program):
    check(program)


@rule("gradients/graph")
@given(program=recurrent.composed())
def test_composed(check, program: Program):
    check(program)


@rule("recurrent/module")
@given(related=pairs.recurrent_modules())
def test_modules(check, related: Related):
    check(related)


@rule("recurrent/packed")
@given(related=pairs.packed())
def test_packed(check, related: Related):
    check(related)


@rule("recurrent/detached-state")
@given(program=recurrent.detached_states())
def test_detached_states(check, program: Program):
    check(program)


@rule("recurrent/carried-state")
@given(program=recurrent.carried_states())
def test_carried_states(check, program: Program):
    check(program)
