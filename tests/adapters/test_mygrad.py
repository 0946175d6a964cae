"""MyGrad: its adapter, its known differences, and the traits that its documentation states."""

from __future__ import annotations

import mygrad as mg
import numpy as np
import pytest

from autograd_conformance.adapters.mygrad.adapter import MyGrad
from autograd_conformance.adapters.mygrad.dialect import DIALECT, OPS, WRITES
from autograd_conformance.checking.check import violation_of
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.known_differences import is_known, known
from autograd_conformance.known_differences.conditions.outcomes import UnexpectedDtype
from autograd_conformance.ops.catalogue import ROWS, VOCABULARY
from autograd_conformance.ops.limits import outside
from autograd_conformance.ops.rows.row import arity, choices_of, rest_of
from autograd_conformance.ops.tables import OPS as TABLE
from autograd_conformance.programs.formats.text import parse

TARGET = InProcess(MyGrad())
ENTRIES = known("mygrad")


def test_it_is_an_adapter():
    smoke(MyGrad())
    with pytest.raises(ValueError, match="CPU only"):
        MyGrad("cuda")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.rule}-{entry.op or entry.conditions[0].value}")
def test_each_difference_shows_in_its_witness(entry):
    violation = violation_of(entry.witness, TARGET)
    assert violation is not None
    assert is_known(entry, entry.witness, violation)


def test_a_result_of_another_dtype_excuses_no_wrong_value():
    entry = next(entry for entry in ENTRIES if entry.get(UnexpectedDtype))
    wrong = InProcess(Wrong())
    violation = violation_of(entry.witness, wrong)
    assert violation is not None
    assert not is_known(entry, entry.witness, violation)


class Wrong(MyGrad):
    """A sum with a number has the right dtype and the wrong value."""

    def apply(self, op, operands, attrs):
        (made,) = super().apply(op, operands, attrs)
        return (made.astype(operands[0].dtype) + operands[0] if op == "add_scalar" else made,)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("a = leaf [1, 2]; b = sin a; backward b", None),  # a sum is implied
        ("a = leaf 1; b = sin a; backward b; backward b", None),  # the second call begins at a leaf
        ("a = leaf 1; b = sin a; backward b; c = multiply b b; backward c", None),  # so does what is made of it
        ("a = leaf 1; b = sin a; c = cos b; backward b; backward c", None),  # refused, as it has to be
        ("a = leaf 1; b = sin a; c = cos a; backward b; backward c", None),  # this, too: it shares a leaf
        ("a = leaf 1; b = sin a; backward b; c = cos a; backward c", None),
        ("a = leaf 1; z = leaf 2; b = sin a; backward b; c = exp a; d = sin z; backward d", None),  # a loses its own
    ],
)
def test_what_its_documentation_says_is_legal(text: str, rule: str | None):
    assert violation_of(parse(text, VOCABULARY), TARGET) == rule


class Walks(MyGrad):
    """A call returns half of the gradient for a value that an earlier call cleared."""

    def backward(self, roots, cotangents, retain_graph):
        super().backward(roots, cotangents, retain_graph)
        for leaf in self.leaves:
            leaf._grad = None if leaf._grad is None else leaf._grad / 2

    def reset(self):
        self.leaves = []

    def leaf(self, data, requires_grad):
        self.leaves.append(super().leaf(data, requires_grad))
        return self.leaves[-1]


@pytest.mark.parametrize("more", ["", "; c = multiply b b; backward c", "; c = cos a; backward c"])
def test_a_wrong_gradient_is_one_before_the_end_of_a_graph_and_after_it(more: str):
    violation = violation_of(parse(f"a = leaf 1; b = sin a; backward b{more}", VOCABULARY), InProcess(Walks()))
    assert violation is not None
    assert violation.rule == "gradients/op"


@pytest.mark.parametrize("op", OPS)
def test_the_code_of_an_op_takes_every_attribute(op: str):
    adapter, row = MyGrad(), TABLE[op]
    assert arity(row) <= 4
    for first in filter(row.accepts, row.fresh):
        for rest in rest_of(row, first):
            operands = [mg.tensor(np.full(shape, 0.5)) for shape in (first, *rest)]
            for attrs in choices_of(row, (first, *rest)):
                if outside(adapter.limits, op, (first, *rest), attrs) is None:
                    assert all(isinstance(made, mg.Tensor) for made in adapter.apply(op, operands, attrs))


@pytest.mark.parametrize("op", WRITES)
def test_the_code_of_an_in_place_op_takes_every_attribute(op: str):
    adapter, row = MyGrad(), ROWS[op]
    for first in filter(row.accepts, row.fresh):
        for rest in rest_of(row, first):
            others = [mg.tensor(np.full(shape, 0.5)) for shape in rest]
            for attrs in choices_of(row, (first, *rest)):
                target = +mg.tensor(np.full(first, 0.25))
                adapter.write(op, target, others, attrs)
                assert target.shape == first and not target.constant


@pytest.mark.parametrize(
    "text",
    [
        "a = leaf [[1, 2], [3, 4]] const; b = leaf 5 const; write a copy_ b; c = select a dim=0 index=1; write c neg_",
        "a = leaf [1, 2]; b = sin a; write b abs_; c = reshape b shape=(2,); write b neg_; backward c with [1, 2]",
    ],
)
def test_a_write_may_move_its_target_and_all_views_of_it(text: str):
    assert violation_of(parse(text, VOCABULARY), TARGET) is None


def test_a_script_finds_out_what_shares_memory():
    names = {"mg": mg, "np": np, "a": mg.tensor([1.0, 2.0])}
    names |= {"b": names["a"][1:], "c": +names["a"], "d": names["a"].data[:1]}
    memory = {name: eval(DIALECT.memory.format(value=name), dict(names)) for name in "abcd"}
    assert memory["a"] == memory["b"] == memory["d"] != memory["c"]
