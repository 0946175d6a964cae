"""Modes: ops recorded or not under grad modes, and leaves whose `requires_grad` changes."""

from __future__ import annotations

import pytest
from hypothesis import given

from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.situations import modes

rule = pytest.mark.rule


@rule("modes/no-grad-result")
@given(drawn=modes.unrecorded())
def test_no_grad_result(check, drawn: Drawn):
    check(drawn)


@rule("modes/no-grad-result")
@given(drawn=modes.unrecorded_views())
def test_no_grad_view(check, drawn: Drawn):
    check(drawn)


@rule("modes/recorded")
@given(drawn=modes.recorded())
def test_recorded(check, drawn: Drawn):
    check(drawn)


@rule("modes/restored")
@given(drawn=modes.restored())
def test_restored(check, drawn: Drawn):
    check(drawn)


@rule("modes/constant")
@given(drawn=modes.constants())
def test_constant(check, drawn: Drawn):
    check(drawn)


@rule("modes/constant-root")
@given(drawn=modes.constant_roots())
def test_constant_root(check, drawn: Drawn):
    check(drawn)


@rule("modes/backward-anywhere")
@given(drawn=modes.unrecorded_calls())
def test_backward_anywhere(check, drawn: Drawn):
    check(drawn)


@rule("modes/unrecorded-write")
@given(drawn=modes.unrecorded_writes())
def test_unrecorded_write(check, drawn: Drawn):
    check(drawn)


@rule("modes/frozen-leaf")
@given(drawn=modes.frozen_leaves())
def test_frozen_leaf(check, drawn: Drawn):
    check(drawn)


@rule("modes/toggle-refused")
@given(drawn=modes.frozen_results())
def test_switch_refused(check, drawn: Drawn):
    check(drawn)
