"""Functional: gradients as results, and backward calls that are restricted to inputs."""

from __future__ import annotations

import pytest
from hypothesis import given

from rules.language import Program
from strategies import situations

rule = pytest.mark.rule


@rule("functional/value")
@given(program=situations.functional_gradients())
def test_value(check, program: Program):
    check(program)


@rule("functional/no-accumulation")
@given(program=situations.functional_beside_held())
def test_no_accumulation(check, program: Program):
    check(program)


@rule("functional/frees")
@given(program=situations.functional_frees())
def test_frees(check, program: Program):
    check(program)


@rule("functional/inner-input")
@given(program=situations.inner_inputs())
def test_inner_input(check, program: Program):
    check(program)


@rule("functional/duplicates")
@given(program=situations.duplicate_inputs())
def test_duplicates(check, program: Program):
    check(program)


@rule("functional/unused-raises")
@given(program=situations.unused_inputs())
def test_unused_raises(check, program: Program):
    check(program)


@rule("functional/unused-none")
@given(program=situations.allowed_unused())
def test_unused_none(check, program: Program):
    check(program)


@rule("functional/materialized")
@given(program=situations.materialized())
def test_materialized(check, program: Program):
    check(program)


@rule("functional/options")
@given(program=situations.contradicting_options())
def test_options(check, program: Program):
    check(program)


@rule("functional/input-no-grad")
@given(program=situations.constant_inputs())
def test_input_no_grad(check, program: Program):
    check(program)


@rule("functional/inputs-only")
@given(program=situations.restricted_calls())
def test_inputs_only(check, program: Program):
    check(program)


@rule("functional/no-inputs")
@given(program=situations.empty_inputs())
def test_no_inputs(check, program: Program):
    check(program)
