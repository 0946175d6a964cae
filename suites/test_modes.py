"""Modes: what is recorded, what is not, and leaves that are switched on and off."""

from __future__ import annotations

import pytest
from autograd_conformance.programs.language import Program
from autograd_conformance.strategies.situations import modes
from hypothesis import given

rule = pytest.mark.rule


@rule("modes/no-grad-result")
@given(program=modes.unrecorded())
def test_no_grad_result(check, program: Program):
    check(program)


@rule("modes/no-grad-result")
@given(program=modes.unrecorded_views())
def test_no_grad_view(check, program: Program):
    check(program)


@rule("modes/recorded")
@given(program=modes.recorded())
def test_recorded(check, program: Program):
    check(program)


@rule("modes/restored")
@given(program=modes.restored())
def test_restored(check, program: Program):
    check(program)


@rule("modes/constant")
@given(program=modes.constants())
def test_constant(check, program: Program):
    check(program)


@rule("modes/constant-root")
@given(program=modes.constant_roots())
def test_constant_root(check, program: Program):
    check(program)


@rule("modes/backward-anywhere")
@given(program=modes.unrecorded_calls())
def test_backward_anywhere(check, program: Program):
    check(program)


@rule("modes/unrecorded-write")
@given(program=modes.unrecorded_writes())
def test_unrecorded_write(check, program: Program):
    check(program)


@rule("modes/frozen-leaf")
@given(program=modes.frozen_leaves())
def test_frozen_leaf(check, program: Program):
    check(program)


@rule("modes/toggle-refused")
@given(program=modes.refused_switches())
def test_switch_refused(check, program: Program):
    check(program)
