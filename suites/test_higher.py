"""Higher order: gradients that are themselves differentiable, and those that are not."""

from __future__ import annotations

import pytest
from autograd_conformance.programs.language import Program
from autograd_conformance.strategies.situations import higher
from hypothesis import given

rule = pytest.mark.rule


@rule("higher/differentiable")
@given(program=higher.second_derivatives())
def test_differentiable(check, program: Program):
    check(program)


@rule("higher/plain-raises")
@given(program=higher.plain_gradients())
def test_plain_raises(check, program: Program):
    check(program)


@rule("higher/differentiable")
@given(program=higher.held_derivatives())
def test_held_derivatives(check, program: Program):
    check(program)


@rule("higher/differentiable")
@given(program=higher.functional_derivatives())
def test_functional_derivatives(check, program: Program):
    check(program)


@rule("higher/differentiable")
@given(program=higher.penalised_gradients())
def test_penalised_gradients(check, program: Program):
    check(program)


@rule("higher/differentiable")
@given(program=higher.created_graphs())
def test_created_graphs(check, program: Program):
    check(program)


@rule("higher/plain-raises")
@given(program=higher.plain_results())
def test_plain_result_raises(check, program: Program):
    check(program)
