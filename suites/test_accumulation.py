"""Accumulation: the `.grad` of a leaf after one call, after several, and after clearing."""

from __future__ import annotations

import pytest
from hypothesis import given

from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.situations import accumulation, gradients, modes

rule = pytest.mark.rule


@rule("accumulation/first")
@given(drawn=accumulation.unreached_leaves())
def test_first(check, drawn: Drawn):
    check(drawn)


@rule("accumulation/adds")
@given(drawn=accumulation.accumulations())
def test_adds(check, drawn: Drawn):
    check(drawn)


@rule("accumulation/unreached")
@given(drawn=accumulation.unreached_leaves())
def test_unreached(check, drawn: Drawn):
    check(drawn)


@rule("accumulation/constant")
@given(drawn=accumulation.constant_leaves())
def test_constant(check, drawn: Drawn):
    check(drawn)


@rule("accumulation/zero-to-none")
@given(drawn=accumulation.cleared_to_none())
def test_zero_to_none(check, drawn: Drawn):
    check(drawn)


@rule("accumulation/zero-to-zeros")
@given(drawn=accumulation.cleared_to_zeros())
def test_zero_to_zeros(check, drawn: Drawn):
    check(drawn)


@rule("accumulation/own-object")
@given(drawn=gradients.shared_contributions())
def test_own_object(check, drawn: Drawn):
    check(drawn)


@rule("accumulation/assigned")
@given(drawn=accumulation.assigned_gradients())
def test_assigned(check, drawn: Drawn):
    check(drawn)


@rule("accumulation/first")
@given(drawn=modes.unfrozen_constants())
def test_switched_on(check, drawn: Drawn):
    check(drawn)


@rule("accumulation/in-place")
@given(drawn=accumulation.added_in_place())
def test_in_place(check, drawn: Drawn):
    check(drawn)


@rule("accumulation/replaces")
@given(drawn=accumulation.replaced_gradients())
def test_replaces(check, drawn: Drawn):
    check(drawn)


@rule("accumulation/layout")
@given(drawn=accumulation.layouts())
def test_layout(check, drawn: Drawn):
    check(drawn)


@rule("accumulation/assigned")
@given(drawn=accumulation.assigned_objects())
def test_assigned_objects(check, drawn: Drawn):
    check(drawn)


@rule("accumulation/assigned-form")
@given(drawn=accumulation.misshapen_gradients())
def test_assigned_form(check, drawn: Drawn):
    check(drawn)
