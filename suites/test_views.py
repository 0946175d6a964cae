"""Views: values that share memory, and the effect of an in-place change of one value on the history of the others."""

from __future__ import annotations

import pytest
from hypothesis import given

from autograd_conformance.checking.audit import uses
from autograd_conformance.checking.check import Check
from autograd_conformance.checking.session import FrameworkUnderTest
from autograd_conformance.ops.tables import VIEWS
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.situations import views

rule = pytest.mark.rule


@rule("views/shares")
@given(drawn=views.views())
def test_shares(check, drawn: Drawn):
    check(drawn)


@rule("views/own-memory")
@given(drawn=views.copies())
def test_own_memory(check, drawn: Drawn):
    check(drawn)


@rule("views/history")
@given(drawn=views.view_histories())
def test_history(check, drawn: Drawn):
    check(drawn)


@rule("views/history")
@given(drawn=views.buffered_histories())
def test_history_of_buffers(check, drawn: Drawn):
    check(drawn)


@rule("views/history")
@pytest.mark.parametrize("op", VIEWS)
def test_written(check: Check, prepared: FrameworkUnderTest, op: str):
    for program in uses.written_views(op, prepared.drawable[0]):
        check(program)


@rule("views/restricted")
@given(drawn=views.restricted_views())
def test_restricted(check, drawn: Drawn):
    check(drawn)
