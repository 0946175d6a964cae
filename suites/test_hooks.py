"""Hooks: functions that are called with gradients, and values that hold theirs though they are no leaves."""

from __future__ import annotations

import pytest
from hypothesis import given

from rules.language import Program
from strategies import situations

rule = pytest.mark.rule


@rule("hooks/called")
@given(program=situations.observed())
def test_called(check, program: Program):
    check(program)


@rule("hooks/called")
@given(program=situations.hooks_and_writes())
def test_called_beside_writes(check, program: Program):
    check(program)


@rule("hooks/result")
@given(program=situations.changing_hooks())
def test_result(check, program: Program):
    check(program)


@rule("hooks/order")
@given(program=situations.ordered_hooks())
def test_order(check, program: Program):
    check(program)


@rule("hooks/removed")
@given(program=situations.removed_hooks())
def test_removed(check, program: Program):
    check(program)


@rule("hooks/accumulated")
@given(program=situations.accumulated_hooks())
def test_accumulated(check, program: Program):
    check(program)


@rule("hooks/refused")
@given(program=situations.refused_hooks())
def test_refused(check, program: Program):
    check(program)


@rule("hooks/raise")
@given(program=situations.raising_hooks())
def test_raise(check, program: Program):
    check(program)


@rule("hooks/shape")
@given(program=situations.misshaping_hooks())
def test_shape(check, program: Program):
    check(program)


@rule("hooks/retained")
@given(program=situations.retained_gradients())
def test_retained(check, program: Program):
    check(program)


@rule("hooks/retain-refused")
@given(program=situations.refused_retains())
def test_retain_refused(check, program: Program):
    check(program)
