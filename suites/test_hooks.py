"""Hooks: functions called with gradients, and retained gradients of values that are no leaves."""

from __future__ import annotations

import pytest
from hypothesis import given

from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.situations import hooks

rule = pytest.mark.rule


@rule("hooks/called")
@given(drawn=hooks.observed())
def test_called(check, drawn: Drawn):
    check(drawn)


@rule("hooks/called")
@given(drawn=hooks.hooks_and_writes())
def test_called_beside_writes(check, drawn: Drawn):
    check(drawn)


@rule("hooks/result")
@given(drawn=hooks.changing_hooks())
def test_result(check, drawn: Drawn):
    check(drawn)


@rule("hooks/order")
@given(drawn=hooks.ordered_hooks())
def test_order(check, drawn: Drawn):
    check(drawn)


@rule("hooks/removed")
@given(drawn=hooks.removed_hooks())
def test_removed(check, drawn: Drawn):
    check(drawn)


@rule("hooks/accumulated")
@given(drawn=hooks.accumulated_hooks())
def test_accumulated(check, drawn: Drawn):
    check(drawn)


@rule("hooks/refused")
@given(drawn=hooks.refused_hooks())
def test_refused(check, drawn: Drawn):
    check(drawn)


@rule("hooks/raise")
@given(drawn=hooks.raising_hooks())
def test_raise(check, drawn: Drawn):
    check(drawn)


@rule("hooks/shape")
@given(drawn=hooks.misshaping_hooks())
def test_shape(check, drawn: Drawn):
    check(drawn)


@rule("hooks/retained")
@given(drawn=hooks.retained_gradients())
def test_retained(check, drawn: Drawn):
    check(drawn)


@rule("hooks/retain-refused")
@given(drawn=hooks.refused_retains())
def test_retain_refused(check, drawn: Drawn):
    check(drawn)
