"""Higher order: gradients with and without create_graph, and their gradients."""

from __future__ import annotations

import pytest
from hypothesis import given

from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.situations import higher

rule = pytest.mark.rule


@rule("higher/differentiable")
@given(drawn=higher.second_derivatives())
def test_differentiable(check, drawn: Drawn):
    check(drawn)


@rule("higher/plain-raises")
@given(drawn=higher.plain_gradients())
def test_plain_raises(check, drawn: Drawn):
    check(drawn)


@rule("higher/differentiable")
@given(drawn=higher.derivatives_of_grads())
def test_held_derivatives(check, drawn: Drawn):
    check(drawn)


@rule("higher/differentiable")
@given(drawn=higher.functional_derivatives())
def test_functional_derivatives(check, drawn: Drawn):
    check(drawn)


@rule("higher/differentiable")
@given(drawn=higher.penalised_gradients())
def test_penalised_gradients(check, drawn: Drawn):
    check(drawn)


@rule("higher/differentiable")
@given(drawn=higher.created_graphs())
def test_created_graphs(check, drawn: Drawn):
    check(drawn)


@rule("higher/plain-raises")
@given(drawn=higher.plain_results())
def test_plain_result_raises(check, drawn: Drawn):
    check(drawn)
