"""Lifetime: how long a graph can be walked, what frees it, and what keeps it."""

from __future__ import annotations

import pytest
from autograd_conformance.programs.language import Program
from autograd_conformance.strategies.situations import lifetime
from hypothesis import given

rule = pytest.mark.rule


@rule("lifetime/same-root-raises")
@given(program=lifetime.walked_twice())
def test_same_root_raises(check, program: Program):
    check(program)


@rule("lifetime/freed-subgraph-raises")
@given(program=lifetime.new_root_on_freed())
def test_freed_subgraph_raises(check, program: Program):
    check(program)


@rule("lifetime/default-frees")
@given(program=lifetime.default_frees())
def test_default_frees(check, program: Program):
    check(program)


@rule("lifetime/late-retain-raises")
@given(program=lifetime.late_retains())
def test_late_retain_raises(check, program: Program):
    check(program)


@rule("lifetime/last-call-frees")
@given(program=lifetime.last_calls())
def test_last_call_frees(check, program: Program):
    check(program)


@rule("lifetime/retained-works")
@given(program=lifetime.retained())
def test_retained_works(check, program: Program):
    check(program)


@rule("lifetime/traversed-only")
@given(program=lifetime.branches())
def test_walked_only(check, program: Program):
    check(program)


@rule("lifetime/independent")
@given(program=lifetime.independent_graphs())
def test_independent(check, program: Program):
    check(program)


@rule("lifetime/rebuilt")
@given(program=lifetime.rebuilt())
def test_rebuilt(check, program: Program):
    check(program)


@rule("lifetime/nothing-saved")
@given(program=lifetime.nothing_saved())
def test_nothing_saved(check, program: Program):
    check(program)
