"""Detach: where history ends."""

from __future__ import annotations

import pytest
from autograd_conformance.programs.language import Program
from autograd_conformance.strategies.situations import detach
from hypothesis import given

rule = pytest.mark.rule


@rule("detach/blocks")
@given(program=detach.detached_operands())
def test_blocks(check, program: Program):
    check(program)


@rule("detach/values")
@given(program=detach.detached_operands())
def test_values(check, program: Program):
    check(program)


@rule("detach/root-raises")
@given(program=detach.detached_roots())
def test_root_raises(check, program: Program):
    check(program)


@rule("detach/keeps-source")
@given(program=detach.detached_sources())
def test_keeps_source(check, program: Program):
    check(program)


@rule("detach/in-place")
@given(program=detach.cut_values())
def test_in_place(check, program: Program):
    check(program)


@rule("detach/view-raises")
@given(program=detach.cut_views())
def test_view_raises(check, program: Program):
    check(program)
