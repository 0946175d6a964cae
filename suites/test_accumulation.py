"""Accumulation: what a leaf holds after one call, after several, after clearing."""

from __future__ import annotations

import pytest
from hypothesis import given

from rules.language import Program
from strategies import situations

rule = pytest.mark.rule


@rule("accumulation/first")
@given(program=situations.unreached_leaves())
def test_first(check, program: Program):
    check(program)


@rule("accumulation/adds")
@given(program=situations.accumulations())
def test_adds(check, program: Program):
    check(program)


@rule("accumulation/unreached")
@given(program=situations.unreached_leaves())
def test_unreached(check, program: Program):
    check(program)


@rule("accumulation/constant")
@given(program=situations.constant_leaves())
def test_constant(check, program: Program):
    check(program)


@rule("accumulation/zero-to-none")
@given(program=situations.cleared_to_none())
def test_zero_to_none(check, program: Program):
    check(program)


@rule("accumulation/zero-to-zeros")
@given(program=situations.cleared_to_zeros())
def test_zero_to_zeros(check, program: Program):
    check(program)


@rule("accumulation/own-object")
@given(program=situations.shared_contributions())
def test_own_object(check, program: Program):
    check(program)


@rule("accumulation/assigned")
@given(program=situations.assigned_gradients())
def test_assigned(check, program: Program):
    check(program)


@rule("accumulation/first")
@given(program=situations.switched_on())
def test_switched_on(check, program: Program):
    check(program)


@rule("accumulation/in-place")
@given(program=situations.added_in_place())
def test_in_place(check, program: Program):
    check(program)


@rule("accumulation/replaces")
@given(program=situations.replaced_gradients())
def test_replaces(check, program: Program):
    check(program)


@rule("accumulation/layout")
@given(program=situations.laid_out())
def test_layout(check, program: Program):
    check(program)


@rule("accumulation/assigned")
@given(program=situations.assigned_objects())
def test_assigned_objects(check, program: Program):
    check(program)


@rule("accumulation/assigned-form")
@given(program=situations.misfit_gradients())
def test_assigned_form(check, program: Program):
    check(program)
