"""Writes: what in-place changes do, and what they do to a graph that was recorded before."""

from __future__ import annotations

import pytest
from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.programs.language import Program
from autograd_conformance.strategies.situations import writes
from hypothesis import given, settings
from hypothesis import strategies as st

rule = pytest.mark.rule

FEW = max(4, settings().max_examples // 10)
"""Programs for one write: there are many, and each has few shapes and attributes."""


@rule("writes/value")
@pytest.mark.parametrize("write", WRITES)
@settings(max_examples=FEW)
@given(data=st.data())
def test_write(check, write: str, data: st.DataObject):
    check(data.draw(writes.single_writes(write)))


@rule("writes/value")
@given(program=writes.written_values())
def test_value(check, program: Program):
    check(program)


@rule("writes/aliases")
@given(program=writes.written_aliases())
def test_aliases(check, program: Program):
    check(program)


@rule("writes/nothing-else")
@given(program=writes.written_values())
def test_nothing_else(check, program: Program):
    check(program)


@rule("writes/recorded")
@given(program=writes.recorded_writes())
def test_recorded(check, program: Program):
    check(program)


@rule("writes/requires-grad")
@given(program=writes.requiring_writes())
def test_requires_grad(check, program: Program):
    check(program)


@rule("writes/leaf-raises")
@given(program=writes.written_leaves())
def test_leaf_raises(check, program: Program):
    check(program)


@rule("writes/refused-keeps-values")
@given(program=writes.written_leaves())
def test_refused_keeps_values(check, program: Program):
    check(program)


@rule("writes/error-or-recorded")
@given(program=writes.written_saved())
def test_error_or_recorded(check, program: Program):
    check(program)


@rule("writes/error-or-recorded")
@given(program=writes.written_parameters())
def test_written_parameter(check, program: Program):
    check(program)


@rule("writes/error-or-recorded")
@given(program=writes.written_between())
def test_stepped_parameter(check, program: Program):
    check(program)


@rule("writes/unsaved-works")
@given(program=writes.written_unneeded())
def test_unsaved_works(check, program: Program):
    check(program)


@rule("writes/unsaved-works")
@given(program=writes.written_unsaved())
def test_stepped_unsaved(check, program: Program):
    check(program)


@rule("writes/overlap")
@given(program=writes.overlapping_writes())
def test_overlap(check, program: Program):
    check(program)
