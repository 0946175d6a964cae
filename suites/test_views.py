"""Views: who shares memory with whom, and what a write to one does to the history of the others."""

from __future__ import annotations

import pytest
from autograd_conformance.programs.language import Program
from autograd_conformance.strategies.situations import views
from hypothesis import given

rule = pytest.mark.rule


@rule("views/shares")
@given(program=views.views())
def test_shares(check, program: Program):
    check(program)


@rule("views/own-memory")
@given(program=views.copies())
def test_own_memory(check, program: Program):
    check(program)


@rule("views/history")
@given(program=views.view_histories())
def test_history(check, program: Program):
    check(program)


@rule("views/history")
@given(program=views.buffered_histories())
def test_history_of_buffers(check, program: Program):
    check(program)


@rule("views/restricted")
@given(program=views.restricted_views())
def test_restricted(check, program: Program):
    check(program)
