"""Views: who shares memory with whom, and what a write to one does to the history of the others."""

from __future__ import annotations

import pytest
from hypothesis import given

from rules.language import Program
from strategies import situations

rule = pytest.mark.rule


@rule("views/shares")
@given(program=situations.views())
def test_shares(check, program: Program):
    check(program)


@rule("views/own-memory")
@given(program=situations.copies())
def test_own_memory(check, program: Program):
    check(program)


@rule("views/history")
@given(program=situations.view_histories())
def test_history(check, program: Program):
    check(program)


@rule("views/history")
@given(program=situations.buffered_histories())
def test_history_of_buffers(check, program: Program):
    check(program)


@rule("views/restricted")
@given(program=situations.restricted_views())
def test_restricted(check, program: Program):
    check(program)
