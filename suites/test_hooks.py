"""Hooks: functions that are called with gradients, and values that hold theirs though they are no leaves."""

from __future__ import annotations

import pytest
from autograd_conformance.programs.language import Program
from autograd_conformance.strategies.situations import hooks
from hypothesis import given

rule = pytest.mark.rule


@rule("hooks/called")
@given(program=hooks.observed())
def test_called(check, program: Program):
    check(program)


@rule("hooks/called")
@given(program=hooks.hooks_and_writes())
def test_called_beside_writes(check, program: Program):
    check(program)


@rule("hooks/result")
@given(program=hooks.changing_hooks())
def test_result(check, program: Program):
    check(program)


@rule("hooks/order")
@given(program=hooks.ordered_hooks())
def test_order(check, program: Program):
    check(program)


@rule("hooks/removed")
@given(program=hooks.removed_hooks())
def test_removed(check, program: Program):
    check(program)


@rule("hooks/accumulated")
@given(program=hooks.accumulated_hooks())
def test_accumulated(check, program: Program):
    check(program)


@rule("hooks/refused")
@given(program=hooks.refused_hooks())
def test_refused(check, program: Program):
    check(program)


@rule("hooks/raise")
@given(program=hooks.raising_hooks())
def test_raise(check, program: Program):
    check(program)


@rule("hooks/shape")
@given(program=hooks.misshaping_hooks())
def test_shape(check, program: Program):
    check(program)


@rule("hooks/retained")
@given(program=hooks.retained_gradients())
def test_retained(check, program: Program):
    check(program)


@rule("hooks/retain-refused")
@given(program=hooks.refused_retains())
def test_retain_refused(check, program: Program):
    check(program)
