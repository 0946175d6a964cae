"""Values of the reference that the program has no name for, and derivatives as ops."""

from __future__ import annotations

import pytest

from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.parser import parse
from autograd_conformance.programs.language import Ref
from autograd_conformance.reference.computation.value_types import GradTensor, InternalValue
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.staging.vjp import Vjp, base_op, derivative_order

TEXT = (
    "a = leaf [1, 2]; b = square a; backward b with [1, 1] create=True; g = held a; "
    "c = exp b; write c mul_ b; backward g with [1, 1]"
)


def test_values_without_a_name_have_types_of_their_own_and_are_no_values_of_the_program():
    program = parse(TEXT, VOCABULARY)
    reference = Reference(program)
    named = {ref for ref in reference.values if not isinstance(ref, (GradTensor, InternalValue))}
    assert {ref.at for ref in named} == {0, 1, 3, 4}
    unnamed = reference.values.keys() - named
    assert {type(ref) for ref in unnamed} == {GradTensor, InternalValue}
    assert all(tuple(ref) not in set(map(tuple, named)) for ref in unnamed)
    assert reference.views.is_gradient(reference.storages.storage(Ref(3)))
    assert not reference.views.is_gradient(Ref(1))


def test_a_derivative_is_recorded_with_the_op_and_its_arity():
    ops = [entry.op for entry in Reference(parse(TEXT, VOCABULARY)).tape.entries]
    assert Vjp("square", 1) in ops


@pytest.mark.parametrize(
    ("op", "base", "order"),
    [("exp", "exp", 0), (Vjp("exp", 1), "exp", 1), (Vjp(Vjp("multiply", 2), 3), "multiply", 2)],
)
def test_the_base_op_of_a_derivative(op: str | Vjp, base: str, order: int):
    assert (base_op(op), derivative_order(op)) == (base, order)


def test_equal_derivatives_are_one_key():
    assert {Vjp("exp", 1): 1}[Vjp("exp", 1)] == 1
    assert str(Vjp(Vjp("multiply", 2), 3)) == "vjp 3 vjp 2 multiply"
