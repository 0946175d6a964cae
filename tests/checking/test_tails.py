"""Fixed programs of functions of one number in their tails."""

from __future__ import annotations

import pytest

from autograd_conformance.checking.audit import tails
from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.programs.language import Leaf
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.strategies.building.alphabet import EVERYTHING


@pytest.mark.parametrize("op", ["i1", "exp", "tanh"])
def test_no_program_has_numbers_both_inside_and_outside_of_an_op_s_domain(op: str) -> None:
    """Outside of the domain, only `gradients/tails` is judged: one such number would hide a wrong gradient beside
    it.
    """
    domain, inside, outside = row_of(op).domain(0), 0, 0
    for program in tails.programs(op, ("float64",), EVERYTHING):
        leaf = program.instructions[0]
        assert isinstance(leaf, Leaf)
        held = {domain.holds(np.array([number])) for number in leaf.value.data}
        assert len(held) == 1
        inside, outside = inside + (True in held), outside + (False in held)
    assert inside == 2 and outside in (0, 2)
