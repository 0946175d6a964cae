"""The needs of situations are decided for every single op, whatever the order in which a framework lists its ops."""

from __future__ import annotations

import pytest

from autograd_conformance.ops.catalogue import APPLIED
from autograd_conformance.programs.capabilities import Traits
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.situations import CALLS, COMBINING, TRAINING, TRAINING_OPS, TWO_OPERANDS, Offer

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


@pytest.mark.parametrize("missing", [None, *TRAINING_OPS])
def test_training_needs_each_op_of_a_loop(missing: str | None) -> None:
    offer = Offer(frozenset(TRAINING_OPS) - {missing}, frozenset(), Traits())
    rules = [rule for slug, rule in RULES.items() if slug.startswith("training/")]
    assert len(rules) == 4
    for rule in rules:
        assert (TRAINING in rule.situation, TRAINING.satisfied_by(offer)) == (True, missing is None)
