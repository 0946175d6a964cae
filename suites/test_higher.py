"""Higher order: gradients that are themselves differentiable, and those that are not."""

from __future__ import annotations

import pytest
from hypothesis import given

from rules.language import Program
from strategies import situations

rule = pytest.mark.rule


@rule("higher/differentiable")
@given(program=situations.second_derivatives())
def test_differentiable(check, program: Program):
    check(program)


@rule("higher/plain-raises")
@given(program=situations.plain_gradients())
def test_plain_raises(check, program: Program):
    check(program)


@rule("higher/differentiable")
@given(program=situations.held_derivatives())
def test_held_derivatives(check, program: Program):
    check(program)


@rule("higher/differentiable")
@given(program=situations.functional_derivatives())
def test_functional_derivatives(check, program: Program):
    check(program)


@rule("higher/differentiable")
@given(program=situations.penalised_gradients())
def test_penalised_gradients(check, program: Program):
    check(program)


@rule("higher/differentiable")
@given(program=situations.created_graphs())
def test_created_graphs(check, program: Program):
    check(program)


@rule("higher/plain-raises")
@given(program=situations.plain_results())
def test_plain_result_raises(check, program: Program):
    check(program)
