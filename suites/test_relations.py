"""Relations: two programs that have to give the same, whatever that is. They need no reference."""

from __future__ import annotations

import pytest
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.strategies.relations import gradients as relations
from autograd_conformance.strategies.relations import interleaving as mixing
from hypothesis import given

rule = pytest.mark.rule


@rule("relations/sum")
@given(related=relations.sums())
def test_sums(check, related: Related):
    check(related)


@rule("relations/scaling")
@given(related=relations.scalings())
def test_scalings(check, related: Related):
    check(related)


@rule("relations/sharing")
@given(related=relations.sharings())
def test_sharings(check, related: Related):
    check(related)


@rule("relations/order")
@given(related=mixing.orders())
def test_orders(check, related: Related):
    check(related)


@rule("relations/repeated")
@given(related=relations.repetitions())
def test_repetitions(check, related: Related):
    check(related)


@rule("relations/interleaved")
@given(related=mixing.interleavings())
def test_interleavings(check, related: Related):
    check(related)
