"""Detach: where history ends."""

from __future__ import annotations

import pytest
from hypothesis import given

from rules.language import Program
from strategies import situations

rule = pytest.mark.rule


@rule("detach/blocks")
@given(program=situations.detached_operands())
def test_blocks(check, program: Program):
    check(program)


@rule("detach/values")
@given(program=situations.detached_operands())
def test_values(check, program: Program):
    check(program)


@rule("detach/root-raises")
@given(program=situations.detached_roots())
def test_root_raises(check, program: Program):
    check(program)


@rule("detach/keeps-source")
@given(program=situations.detached_sources())
def test_keeps_source(check, program: Program):
    check(program)


@rule("detach/in-place")
@given(program=situations.cut_values())
def test_in_place(check, program: Program):
    check(program)


@rule("detach/view-raises")
@given(program=situations.cut_views())
def test_view_raises(check, program: Program):
    check(program)
