"""Lifetime: how long calls on a graph are legal, and which calls free or retain it."""

from __future__ import annotations

import pytest
from hypothesis import given

from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.situations import lifetime

rule = pytest.mark.rule


@rule("lifetime/same-root-raises")
@given(drawn=lifetime.backward_twice())
def test_same_root_raises(check, drawn: Drawn):
    check(drawn)


@rule("lifetime/freed-subgraph-raises")
@given(drawn=lifetime.new_root_on_freed())
def test_freed_subgraph_raises(check, drawn: Drawn):
    check(drawn)


@rule("lifetime/default-frees")
@given(drawn=lifetime.default_frees())
def test_default_frees(check, drawn: Drawn):
    check(drawn)


@rule("lifetime/late-retain-raises")
@given(drawn=lifetime.late_retains())
def test_late_retain_raises(check, drawn: Drawn):
    check(drawn)


@rule("lifetime/last-call-frees")
@given(drawn=lifetime.last_calls())
def test_last_call_frees(check, drawn: Drawn):
    check(drawn)


@rule("lifetime/retained-works")
@given(drawn=lifetime.retained())
def test_retained_works(check, drawn: Drawn):
    check(drawn)


@rule("lifetime/traversed-only")
@given(drawn=lifetime.branches())
def test_walked_only(check, drawn: Drawn):
    check(drawn)


@rule("lifetime/independent")
@given(drawn=lifetime.independent_graphs())
def test_independent(check, drawn: Drawn):
    check(drawn)


@rule("lifetime/rebuilt")
@given(drawn=lifetime.rebuilt())
def test_rebuilt(check, drawn: Drawn):
    check(drawn)


@rule("lifetime/nothing-saved")
@given(drawn=lifetime.nothing_saved())
def test_nothing_saved(check, drawn: Drawn):
    check(drawn)
