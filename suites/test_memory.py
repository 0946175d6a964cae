"""Memory: tensors saved by a graph are alive while a call on the graph is legal, and no longer.

The tests need a framework that counts its saved tensors, or an adapter with a saved-tensor counter, such as PyTorch's.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from autograd_conformance.checking.audit import corners
from autograd_conformance.programs.language import Program
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.situations import memory

rule = pytest.mark.rule

FEW = max(40, settings().max_examples // 3)
"""Number of programs for the test of repeated instructions: few, because a program that repeats them up to a hundred
times is long.
"""


@rule("memory/freed")
@given(drawn=memory.freed())
def test_released(check, drawn: Drawn):
    check(drawn)


@rule("memory/retained")
@given(drawn=memory.retained())
def test_kept(check, drawn: Drawn):
    check(drawn)


@rule("memory/dropped")
@given(drawn=memory.deleted())
def test_let_go(check, drawn: Drawn):
    check(drawn)


@rule("memory/dropped")
def test_each_op(check, prepared):
    for op in alphabet.current().ops:
        for program in corners.releases(op, prepared.drawable[0]):
            check(program)


@rule("memory/steady")
@settings(max_examples=FEW)
@given(program=memory.repeated())
def test_rounds(check, program: Program):
    check(program)


@rule("memory/after-error")
@given(drawn=memory.failed())
def test_failed(check, drawn: Drawn):
    check(drawn)


@rule("memory/cycle")
@given(drawn=memory.cycles())
def test_cycles(check, drawn: Drawn):
    check(drawn)
