"""Writes: what an optimizer's step does, and what it does to a graph that was recorded before it."""

from __future__ import annotations

import pytest
from hypothesis import given

from rules.language import Program
from strategies import situations

rule = pytest.mark.rule


@rule("writes/step")
@given(program=situations.steps())
def test_step(check, program: Program):
    check(program)


@rule("writes/error-or-recorded")
@given(program=situations.written_between())
def test_error_or_recorded(check, program: Program):
    check(program)


@rule("writes/unsaved-works")
@given(program=situations.written_unsaved())
def test_unsaved_works(check, program: Program):
    check(program)
