"""Accumulation: what a leaf holds after one call, after several, after clearing."""

from __future__ import annotations

import pytest
from autograd_conformance.programs.language import Program
from autograd_conformance.strategies.situations import accumulation, gradients, modes
from hypothesis import given

rule = pytest.mark.rule


@rule("accumulation/first")
@given(program=accumulation.unreached_leaves())
def test_first(check, program: Program):
    check(program)


@rule("accumulation/adds")
@given(program=accumulation.accumulations())
def test_adds(check, program: Program):
    check(program)


@rule("accumulation/unreached")
@given(program=accumulation.unreached_leaves())
def test_unreached(check, program: Program):
    check(program)


@rule("accumulation/constant")
@given(program=accumulation.constant_leaves())
def test_constant(check, program: Program):
    check(program)


@rule("accumulation/zero-to-none")
@given(program=accumulation.cleared_to_none())
def test_zero_to_none(check, program: Program):
    check(program)


@rule("accumulation/zero-to-zeros")
@given(program=accumulation.cleared_to_zeros())
def test_zero_to_zeros(check, program: Program):
    check(program)


@rule("accumulation/own-object")
@given(program=gradients.shared_contributions())
def test_own_object(check, program: Program):
    check(program)


@rule("accumulation/assigned")
@given(program=accumulation.assigned_gradients())
def test_assigned(check, program: Program):
    check(program)


@rule("accumulation/first")
@given(program=modes.switched_on())
def test_switched_on(check, program: Program):
    check(program)


@rule("accumulation/in-place")
@given(program=accumulation.added_in_place())
def test_in_place(check, program: Program):
    check(program)


@rule("accumulation/replaces")
@given(program=accumulation.replaced_gradients())
def test_replaces(check, program: Program):
    check(program)


@rule("accumulation/layout")
@given(program=accumulation.laid_out())
def test_layout(check, program: Program):
    check(program)


@rule("accumulation/assigned")
@given(program=accumulation.assigned_objects())
def test_assigned_objects(check, program: Program):
    check(program)


@rule("accumulation/assigned-form")
@given(program=accumulation.misfit_gradients())
def test_assigned_form(check, program: Program):
    check(program)
