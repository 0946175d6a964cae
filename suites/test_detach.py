"""Detach: programs with detached values, through which no gradient flows."""

from __future__ import annotations

import pytest
from hypothesis import given

from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.situations import detach

rule = pytest.mark.rule


@rule("detach/blocks")
@given(drawn=detach.detached_operands())
def test_blocks(check, drawn: Drawn):
    check(drawn)


@rule("detach/values")
@given(drawn=detach.detached_operands())
def test_values(check, drawn: Drawn):
    check(drawn)


@rule("detach/values")
@given(drawn=detach.values_detached_twice())
def test_detached_twice(check, drawn: Drawn):
    check(drawn)


@rule("detach/root-raises")
@given(drawn=detach.detached_roots())
def test_root_raises(check, drawn: Drawn):
    check(drawn)


@rule("detach/keeps-source")
@given(drawn=detach.detached_sources())
def test_keeps_source(check, drawn: Drawn):
    check(drawn)


@rule("detach/in-place")
@given(drawn=detach.values_detached_in_place())
def test_in_place(check, drawn: Drawn):
    check(drawn)


@rule("detach/view-raises")
@given(drawn=detach.views_detached_in_place())
def test_view_raises(check, drawn: Drawn):
    check(drawn)
