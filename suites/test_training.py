"""Training: training loops, correct or with typical bugs, and pairs of loops that must agree."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.relations import training as relations
from autograd_conformance.strategies.training import PATTERNS, loops

rule = pytest.mark.rule

FEW = max(10, settings().max_examples // 6)
"""Number of programs that are drawn for each of the eighteen patterns of training loops."""


@rule("training/loop")
@given(drawn=loops())
def test_any_loop(check, drawn: Drawn):
    check(drawn)


@rule("training/loop")
@pytest.mark.parametrize("pattern", PATTERNS)
@settings(max_examples=FEW)
@given(data=st.data())
def test_loop(check, pattern: str, data: st.DataObject):
    check(data.draw(loops(pattern)))


@rule("training/micro-batches")
@given(related=relations.micro_batches())
def test_micro_batches(check, related: Related):
    check(related)


@rule("training/losses")
@given(related=relations.several_losses())
def test_losses(check, related: Related):
    check(related)


@rule("training/apart")
@given(related=relations.networks_apart())
def test_apart(check, related: Related):
    check(related)
