"""Errors: what is refused, with which kind of error, and what a refusal leaves behind."""

from __future__ import annotations

import pytest
from autograd_conformance.programs.language import Program
from autograd_conformance.strategies.random_programs import programs
from autograd_conformance.strategies.situations import errors
from hypothesis import given

rule = pytest.mark.rule


@rule("errors/no-grad-root")
@given(program=errors.no_grad_roots())
def test_no_grad_root(check, program: Program):
    check(program)


@rule("errors/non-scalar-root")
@given(program=errors.implicit_cotangents())
def test_non_scalar_root(check, program: Program):
    check(program)


@rule("errors/cotangent-shape")
@given(program=errors.wrong_cotangents())
def test_cotangent_shape(check, program: Program):
    check(program)


@rule("errors/legal-returns")
@given(program=programs())
def test_legal_returns(check, program: Program):
    check(program)


@rule("errors/refusal-keeps-gradients")
@given(program=errors.refused_after_gradients())
def test_refusal_keeps_gradients(check, program: Program):
    check(program)


@rule("errors/refusal-keeps-graph")
@given(program=errors.refused())
def test_refusal_keeps_graph(check, program: Program):
    check(program)


@rule("errors/atomic")
@given(program=errors.failing_walks())
def test_not_torn(check, program: Program):
    check(program)


@rule("errors/recovers")
@given(program=errors.resumed())
def test_goes_on(check, program: Program):
    check(program)
