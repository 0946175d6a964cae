"""Relations: two programs whose results must be equal, or be sums or multiples of each other, whatever the values are.
The comparison needs no reference.
"""

from __future__ import annotations

import pytest
from hypothesis import given

from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.strategies.relations import gradients, interleaving

rule = pytest.mark.rule


@rule("relations/sum")
@given(related=gradients.sums())
def test_sums(check, related: Related):
    check(related)


@rule("relations/scaling")
@given(related=gradients.scalings())
def test_scalings(check, related: Related):
    check(related)


@rule("relations/sharing")
@given(related=gradients.sharings())
def test_sharings(check, related: Related):
    check(related)


@rule("relations/order")
@given(related=interleaving.orders())
def test_orders(check, related: Related):
    check(related)


@rule("relations/repeated")
@given(related=gradients.repetitions())
def test_repetitions(check, related: Related):
    check(related)


@rule("relations/interleaved")
@given(related=interleaving.interleavings())
def test_interleavings(check, related: Related):
    check(related)
