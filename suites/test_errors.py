"""Errors: rejected calls, the kind of their errors, and the state after them."""

from __future__ import annotations

import pytest
from hypothesis import given

from autograd_conformance.checking.audit import failures
from autograd_conformance.checking.check import Check
from autograd_conformance.checking.session import FrameworkUnderTest
from autograd_conformance.checking.skips import NotApplicable, NothingDrawn
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.random_programs import programs
from autograd_conformance.strategies.situations import errors

rule = pytest.mark.rule


@rule("errors/no-grad-root")
@given(drawn=errors.no_grad_roots())
def test_no_grad_root(check, drawn: Drawn):
    check(drawn)


@rule("errors/non-scalar-root")
@given(drawn=errors.implicit_cotangents())
def test_non_scalar_root(check, drawn: Drawn):
    check(drawn)


@rule("errors/cotangent-shape")
@given(drawn=errors.wrong_cotangents())
def test_cotangent_shape(check, drawn: Drawn):
    check(drawn)


@rule("errors/legal-returns")
@given(drawn=programs())
def test_legal_returns(check, drawn: Drawn):
    check(drawn)


@rule("errors/refusal-keeps-gradients")
@given(drawn=errors.refused_after_gradients())
def test_refusal_keeps_gradients(check, drawn: Drawn):
    check(drawn)


@rule("errors/refusal-keeps-graph")
@given(drawn=errors.refused())
def test_refusal_keeps_graph(check, drawn: Drawn):
    check(drawn)


@rule("errors/atomic")
@given(drawn=errors.failing_calls())
def test_not_torn(check, drawn: Drawn):
    check(drawn)


@rule("errors/recovers")
@pytest.mark.parametrize("way", failures.WAYS)
def test_each_way(check: Check, prepared: FrameworkUnderTest, way: str):
    _, needs = failures.WAYS[way]
    lacking = [need.value for need in needs if need not in prepared.target.capabilities]
    if lacking:
        raise NotApplicable(f"not claimed: {'; '.join(lacking)}")
    made = [*failures.programs(way, prepared.drawable[0])]
    if not made:
        raise NothingDrawn("the framework lacks an op or an option of each program")
    for program in made:
        check(program)


@rule("errors/recovers")
@given(drawn=errors.resumed())
def test_goes_on(check, drawn: Drawn):
    check(drawn)
