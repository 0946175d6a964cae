"""Functional: gradients as results, and backward calls that are restricted to inputs."""

from __future__ import annotations

import pytest
from autograd_conformance.programs.language import Program
from autograd_conformance.strategies.situations import functional
from hypothesis import given

rule = pytest.mark.rule


@rule("functional/value")
@given(program=functional.functional_gradients())
def test_value(check, program: Program):
    check(program)


@rule("functional/no-accumulation")
@given(program=functional.functional_beside_held())
def test_no_accumulation(check, program: Program):
    check(program)


@rule("functional/frees")
@given(program=functional.functional_frees())
def test_frees(check, program: Program):
    check(program)


@rule("functional/inner-input")
@given(program=functional.inner_inputs())
def test_inner_input(check, program: Program):
    check(program)


@rule("functional/duplicates")
@given(program=functional.duplicate_inputs())
def test_duplicates(check, program: Program):
    check(program)


@rule("functional/unused-raises")
@given(program=functional.unused_inputs())
def test_unused_raises(check, program: Program):
    check(program)


@rule("functional/unused-none")
@given(program=functional.allowed_unused())
def test_unused_none(check, program: Program):
    check(program)


@rule("functional/materialized")
@given(program=functional.materialized())
def test_materialized(check, program: Program):
    check(program)


@rule("functional/options")
@given(program=functional.contradicting_options())
def test_options(check, program: Program):
    check(program)


@rule("functional/input-no-grad")
@given(program=functional.constant_inputs())
def test_input_no_grad(check, program: Program):
    check(program)


@rule("functional/inputs-only")
@given(program=functional.restricted_calls())
def test_inputs_only(check, program: Program):
    check(program)


@rule("functional/no-inputs")
@given(program=functional.empty_inputs())
def test_no_inputs(check, program: Program):
    check(program)
