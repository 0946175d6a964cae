"""The needs of situations are decided for every single op, whatever the order in which a framework lists its ops."""

from __future__ import annotations

import pytest

from autograd_conformance.ops.catalogue import APPLIED
from autograd_conformance.programs.capabilities import Traits
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.situations import CALLS, COMBINING, TWO_OPERANDS, Offer

NEEDS = {need.words: need for rule in RULES.values() for need in (*rule.situation, CALLS, COMBINING)}


@pytest.mark.parametrize("op", sorted(APPLIED))
def test_each_need_is_decided_for_an_op_that_is_all_there_is(op: str) -> None:
    for scalars in (False, True):
        offer = Offer(frozenset((op,)), frozenset(), Traits(scalars=scalars))
        assert {type(need.satisfied_by(offer)) for need in NEEDS.values()} == {bool}


@pytest.mark.parametrize(
    ("op", "takes"), [("multiply", True), ("sin", False), ("nn_linear", False), ("nn_lstm", False)]
)
def test_a_module_joins_no_two_values(op: str, takes: bool) -> None:
    assert TWO_OPERANDS.satisfied_by(Offer(frozenset((op,)), frozenset(), Traits())) is takes
