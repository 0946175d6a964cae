"""Lifetime: how long a graph can be walked, what frees it, and what keeps it."""

from __future__ import annotations

import pytest
from hypothesis import given

from rules.language import Program
from strategies import situations

rule = pytest.mark.rule


@rule("lifetime/same-root-raises")
@given(program=situations.walked_twice())
def test_same_root_raises(check, program: Program):
    check(program)


@rule("lifetime/freed-subgraph-raises")
@given(program=situations.new_root_on_freed())
def test_freed_subgraph_raises(check, program: Program):
    check(program)


@rule("lifetime/default-frees")
@given(program=situations.default_frees())
def test_default_frees(check, program: Program):
    check(program)


@rule("lifetime/late-retain-raises")
@given(program=situations.late_retains())
def test_late_retain_raises(check, program: Program):
    check(program)


@rule("lifetime/last-call-frees")
@given(program=situations.last_calls())
def test_last_call_frees(check, program: Program):
    check(program)


@rule("lifetime/retained-works")
@given(program=situations.retained())
def test_retained_works(check, program: Program):
    check(program)


@rule("lifetime/walked-only")
@given(program=situations.branches())
def test_walked_only(check, program: Program):
    check(program)


@rule("lifetime/independent")
@given(program=situations.independent_graphs())
def test_independent(check, program: Program):
    check(program)


@rule("lifetime/rebuilt")
@given(program=situations.rebuilt())
def test_rebuilt(check, program: Program):
    check(program)


@rule("lifetime/nothing-saved")
@given(program=situations.nothing_saved())
def test_nothing_saved(check, program: Program):
    check(program)
