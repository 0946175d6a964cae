"""Errors: what is refused, with which kind of error, and what a refusal leaves behind."""

from __future__ import annotations

import pytest
from hypothesis import given

from rules.language import Program
from strategies import situations
from strategies.programs import programs

rule = pytest.mark.rule


@rule("errors/no-grad-root")
@given(program=situations.no_grad_roots())
def test_no_grad_root(check, program: Program):
    check(program)


@rule("errors/non-scalar-root")
@given(program=situations.implicit_cotangents())
def test_non_scalar_root(check, program: Program):
    check(program)


@rule("errors/cotangent-shape")
@given(program=situations.wrong_cotangents())
def test_cotangent_shape(check, program: Program):
    check(program)


@rule("errors/legal-returns")
@given(program=programs())
def test_legal_returns(check, program: Program):
    check(program)


@rule("errors/refusal-keeps-gradients")
@given(program=situations.refused_after_gradients())
def test_refusal_keeps_gradients(check, program: Program):
    check(program)


@rule("errors/refusal-keeps-graph")
@given(program=situations.refused())
def test_refusal_keeps_graph(check, program: Program):
    check(program)


@rule("errors/not-torn")
@given(program=situations.failing_walks())
def test_not_torn(check, program: Program):
    check(program)


@rule("errors/goes-on")
@given(program=situations.resumed())
def test_goes_on(check, program: Program):
    check(program)
