"""Functional: gradients as results (`grad`), and backward calls restricted to inputs."""

from __future__ import annotations

import pytest
from hypothesis import given

from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.situations import functional

rule = pytest.mark.rule


@rule("functional/value")
@given(drawn=functional.functional_gradients())
def test_value(check, drawn: Drawn):
    check(drawn)


@rule("functional/no-accumulation")
@given(drawn=functional.functional_beside_grads())
def test_no_accumulation(check, drawn: Drawn):
    check(drawn)


@rule("functional/frees")
@given(drawn=functional.functional_frees())
def test_frees(check, drawn: Drawn):
    check(drawn)


@rule("functional/inner-input")
@given(drawn=functional.inner_inputs())
def test_inner_input(check, drawn: Drawn):
    check(drawn)


@rule("functional/duplicates")
@given(drawn=functional.duplicate_inputs())
def test_duplicates(check, drawn: Drawn):
    check(drawn)


@rule("functional/unused-raises")
@given(drawn=functional.unused_inputs())
def test_unused_raises(check, drawn: Drawn):
    check(drawn)


@rule("functional/unused-none")
@given(drawn=functional.allowed_unused())
def test_unused_none(check, drawn: Drawn):
    check(drawn)


@rule("functional/materialized")
@given(drawn=functional.materialized())
def test_materialized(check, drawn: Drawn):
    check(drawn)


@rule("functional/options")
@given(drawn=functional.contradicting_options())
def test_options(check, drawn: Drawn):
    check(drawn)


@rule("functional/input-no-grad")
@given(drawn=functional.constant_inputs())
def test_input_no_grad(check, drawn: Drawn):
    check(drawn)


@rule("functional/inputs-only")
@given(drawn=functional.restricted_calls())
def test_inputs_only(check, drawn: Drawn):
    check(drawn)


@rule("functional/no-inputs")
@given(drawn=functional.empty_inputs())
def test_no_inputs(check, drawn: Drawn):
    check(drawn)
