"""Writes: results of in-place ops, and the effect of in-place ops on graphs recorded before."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.situations import writes

rule = pytest.mark.rule

FEW = max(4, settings().max_examples // 10)
"""Number of programs for one in-place op. There are many in-place ops, and each has few shapes and attributes."""


@rule("writes/value")
@pytest.mark.parametrize("write", WRITES)
@settings(max_examples=FEW)
@given(data=st.data())
def test_write(check, write: str, data: st.DataObject):
    check(data.draw(writes.single_writes(write)))


@rule("writes/value")
@given(drawn=writes.written_values())
def test_value(check, drawn: Drawn):
    check(drawn)


@rule("writes/aliases")
@given(drawn=writes.written_aliases())
def test_aliases(check, drawn: Drawn):
    check(drawn)


@rule("writes/nothing-else")
@given(drawn=writes.written_values())
def test_nothing_else(check, drawn: Drawn):
    check(drawn)


@rule("writes/recorded")
@given(drawn=writes.recorded_writes())
def test_recorded(check, drawn: Drawn):
    check(drawn)


@rule("writes/requires-grad")
@given(drawn=writes.requiring_writes())
def test_requires_grad(check, drawn: Drawn):
    check(drawn)


@rule("writes/leaf-raises")
@given(drawn=writes.written_leaves())
def test_leaf_raises(check, drawn: Drawn):
    check(drawn)


@rule("writes/refused-keeps-values")
@given(drawn=writes.written_leaves())
def test_refused_keeps_values(check, drawn: Drawn):
    check(drawn)


@rule("writes/error-or-recorded")
@given(drawn=writes.written_saved())
def test_error_or_recorded(check, drawn: Drawn):
    check(drawn)


@rule("writes/error-or-recorded")
@given(drawn=writes.written_parameters())
def test_written_parameter(check, drawn: Drawn):
    check(drawn)


@rule("writes/error-or-recorded")
@given(drawn=writes.written_between())
def test_stepped_parameter(check, drawn: Drawn):
    check(drawn)


@rule("writes/unsaved-works")
@given(drawn=writes.written_unneeded())
def test_unsaved_works(check, drawn: Drawn):
    check(drawn)


@rule("writes/unsaved-works")
@given(drawn=writes.written_unsaved())
def test_stepped_unsaved(check, drawn: Drawn):
    check(drawn)


@rule("writes/overlap")
@given(drawn=writes.overlapping_writes())
def test_overlap(check, drawn: Drawn):
    check(drawn)
