"""Writes: what in-place changes do, and what they do to a graph that was recorded before."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.language import Program
from rules.ops.writes import WRITES
from strategies import situations

rule = pytest.mark.rule

FEW = max(4, settings().max_examples // 10)
"""Programs for one write: there are many, and each has few shapes and attributes."""


@rule("writes/value")
@pytest.mark.parametrize("write", WRITES)
@settings(max_examples=FEW)
@given(data=st.data())
def test_write(check, write: str, data: st.DataObject):
    check(data.draw(situations.single_writes(write)))


@rule("writes/value")
@given(program=situations.written_values())
def test_value(check, program: Program):
    check(program)


@rule("writes/aliases")
@given(program=situations.written_aliases())
def test_aliases(check, program: Program):
    check(program)


@rule("writes/nothing-else")
@given(program=situations.written_values())
def test_nothing_else(check, program: Program):
    check(program)


@rule("writes/recorded")
@given(program=situations.recorded_writes())
def test_recorded(check, program: Program):
    check(program)


@rule("writes/requires-grad")
@given(program=situations.requiring_writes())
def test_requires_grad(check, program: Program):
    check(program)


@rule("writes/leaf-raises")
@given(program=situations.written_leaves())
def test_leaf_raises(check, program: Program):
    check(program)


@rule("writes/refused-keeps-values")
@given(program=situations.written_leaves())
def test_refused_keeps_values(check, program: Program):
    check(program)


@rule("writes/error-or-recorded")
@given(program=situations.written_saved())
def test_error_or_recorded(check, program: Program):
    check(program)


@rule("writes/error-or-recorded")
@given(program=situations.written_parameters())
def test_written_parameter(check, program: Program):
    check(program)


@rule("writes/error-or-recorded")
@given(program=situations.written_between())
def test_stepped_parameter(check, program: Program):
    check(program)


@rule("writes/unsaved-works")
@given(program=situations.written_unneeded())
def test_unsaved_works(check, program: Program):
    check(program)


@rule("writes/unsaved-works")
@given(program=situations.written_unsaved())
def test_stepped_unsaved(check, program: Program):
    check(program)


@rule("writes/overlap")
@given(program=situations.overlapping_writes())
def test_overlap(check, program: Program):
    check(program)
