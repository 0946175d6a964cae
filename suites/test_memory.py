"""Memory: what a graph saved is alive for as long as the graph can be walked, and no longer.

A framework that counts its saved tensors is asked; one that has a companion for counting, as PyTorch's adapter has, is
asked through that.
"""

from __future__ import annotations

import pytest
from autograd_conformance.programs.language import Program
from autograd_conformance.strategies.situations import memory
from hypothesis import given, settings

rule = pytest.mark.rule

FEW = max(40, settings().max_examples // 3)
"""Programs that do the same again and again: each is as long as ten others."""


@rule("memory/freed")
@given(program=memory.released())
def test_released(check, program: Program):
    check(program)


@rule("memory/retained")
@given(program=memory.kept())
def test_kept(check, program: Program):
    check(program)


@rule("memory/dropped")
@given(program=memory.let_go())
def test_let_go(check, program: Program):
    check(program)


@rule("memory/steady")
@settings(max_examples=FEW)
@given(program=memory.rounds())
def test_rounds(check, program: Program):
    check(program)


@rule("memory/after-error")
@given(program=memory.failed())
def test_failed(check, program: Program):
    check(program)


@rule("memory/cycle")
@given(program=memory.cycles())
def test_cycles(check, program: Program):
    check(program)
