"""The values that derivatives need and that may be saved, compared with PyTorch: write to an operand or a result, then
call backward. If PyTorch raises, the written value must be one that may be saved; if it does not, the gradients must be
those of the recorded values.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
import torch

from autograd_conformance.ops.catalogue import WRITES, row_of
from autograd_conformance.ops.rows.row import RESULTS, choices_of, rest_of, takes
from autograd_conformance.ops.tables import OPS, Op
from autograd_conformance.programs.language import Attrs, Shape
from autograd_conformance.reference.saved_tensors import Saved, may_save, needs
from autograd_conformance.reference.staging.vjp import Vjp
from tests.ops.test_inplace import write
from tests.ops.test_ops import Arrays, code, draws, fitted, sampled, tupled

CASES = 8
ROWS = {**OPS, **WRITES}
each_row = pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
pytestmark = pytest.mark.filterwarnings("ignore:reduction. 'mean' divides:UserWarning")

ONE = (1, 1)

UNTRACKED = {"kron"}
"""Ops whose operands PyTorch saves through `_unsafe_view`, without their version: it does not detect later writes."""


class Target(NamedTuple):
    """The value that is written to after the op, operand number `k` or result number `k`."""

    operand: bool
    k: int


def gradients(op: Op, attrs: Attrs, values: Arrays, requires: tuple[bool, ...], target: Target | None) -> list:
    """The gradients of the operands that require grad, with a write to `target` before the backward call."""
    leaves = [torch.tensor(x, requires_grad=r) for x, r in zip(values, requires, strict=True)]
    operands = [leaf.clone() for leaf in leaves]
    if op.name in WRITES:
        results = (write(op, attrs, operands),)
    else:
        results = tupled(code(op, attrs, len(operands))(*operands))
    rng = np.random.default_rng(0)
    cotangents = [torch.tensor(draws(rng, tuple(r.shape)), dtype=r.dtype) for r in results]
    if target is not None:
        with torch.no_grad():
            (operands if target.operand else results)[target.k].mul_(-1.7).add_(0.31)
    found = torch.autograd.grad(results, [x for x in leaves if x.requires_grad], cotangents, allow_unused=True)
    return [None if g is None else g.numpy() for g in found]


def subsets(count: int) -> list[tuple[bool, ...]]:
    """The sets of operands that require grad: any of up to three, one or all of more."""
    if count <= 3:
        return [r for r in product((True, False), repeat=count) if any(r)]
    return [*(tuple(i == k for i in range(count)) for k in range(count)), (True,) * count]


def targets(op: Op, shapes: tuple[Shape, ...], results: int) -> list[Target]:
    """The values that can be written to afterwards: operands and results, except a write's target, whose old value is
    overwritten.
    """
    operands = [Target(True, k) for k in range(len(shapes)) if op.name in OPS or k > 0]
    return operands + [Target(False, k) for k in range(results) if not op.overlaps]


class ObservedWrite(NamedTuple):
    """A write to an operand or a result, and its effect; `error` is None if nothing was raised."""

    case: str
    target: Target
    may: Saved
    error: str | None
    right: bool

    @property
    def allowed(self) -> bool:
        """Whether the written value may have been saved."""
        return self.target.k in self.may.operands if self.target.operand else self.may.results


@cache
def observed_writes(name: str, cases: int = CASES) -> tuple[ObservedWrite, ...]:
    """Every write to every operand and result, for every choice of operands that require grad, in some cases."""
    return tuple(_observed_writes(row_of(name), cases))


def _observed_writes(op: Op, cases: int) -> Iterator[ObservedWrite]:
    for shapes, attrs in sampled(op, cases):
        values = fitted(op, shapes, "float64", seed=0)
        results = 1 if op.name in WRITES else len(tupled(code(op, attrs, len(shapes))(*map(torch.tensor, values))))
        for requires in subsets(len(shapes)):
            recorded = gradients(op, attrs, values, requires, None)
            may = may_save(op.name, attrs, shapes, requires)
            for target in targets(op, shapes, results):
                error, right = None, True
                try:
                    found = gradients(op, attrs, values, requires, target)
                    right = all(same(a, b) for a, b in zip(found, recorded, strict=True))
                except RuntimeError as raised:
                    error = str(raised)
                yield ObservedWrite(f"{op.name}{shapes} {attrs}, {requires} require grad", target, may, error, right)


def same(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    return a is b if a is None or b is None else np.array_equal(a, b, equal_nan=True)


def described(one: ObservedWrite) -> str:
    return f"{one.case}; {'operand' if one.target.operand else 'result'} {one.target.k} written to: {one.error}"


@each_row
def test_torch_raises_only_for_what_may_be_saved(row):
    for one in observed_writes(row.name):
        if one.error is None:
            continue
        if row.multi:
            assert "the output of a function that returns multiple views" in one.error, described(one)
        else:
            assert "has been modified by an inplace operation" in one.error, described(one)
            assert one.allowed, described(one)


@each_row
def test_where_torch_does_not_raise_its_gradient_is_the_recorded_one(row):
    wrong = [described(one) for one in observed_writes(row.name) if not one.right]
    if row.name in UNTRACKED:
        assert wrong, "PyTorch notices these writes now: no exception is needed any more"
    else:
        assert not wrong, wrong[0]


@pytest.mark.parametrize("name", [name for name, row in OPS.items() if row.also_saves])
def test_what_a_row_lists_as_also_saved_was_observed_to_be(name):
    row = OPS[name]
    cases = [(shapes, attrs) for shapes, attrs in sampled(row, 40) if not any(0 in s for s in shapes)]
    if takes(row, ONE):  # which no fresh leaf has: some formulas are linear there, and still keep what they keep
        cases += [(shapes := (ONE, *rest), choices_of(row, shapes)[0]) for rest in rest_of(row, ONE)]
    raised = set()
    for shapes, attrs in cases:
        values = fitted(row, shapes, "float64", seed=0)
        for requires in subsets(len(shapes)):
            needed = needs(name, attrs, shapes, requires)
            for target in targets(row, shapes, 1):
                if target.k in needed if target.operand else needed:
                    continue
                try:
                    gradients(row, attrs, values, requires, target)
                except RuntimeError:
                    raised.add(target.k if target.operand else RESULTS)
    assert raised == set(row.also_saves)


A = (3,)


@pytest.mark.parametrize(
    ("op", "attrs", "requires", "expected"),
    [
        ("multiply", (), (True, False), {1}),
        ("multiply", (), (False, True), {0}),
        ("multiply", (), (True, True), {0, 1}),
        ("multiply", (), (False, False), set()),
        ("divide", (), (True, False), {1}),
        ("divide", (), (False, True), {0, 1}),
        ("add", (), (True, True), set()),
        ("where", (("mask", (True, False, True)),), (True, True), set()),
        ("maximum", (), (True, False), {0, 1}),
        ("exp", (), (True,), {0}),
        ("cumulative_sum", (("dim", 0),), (True,), set()),
        ("negative", (), (True,), set()),
        ("mul_", (), (True, False), {1}),
        ("mul_", (), (False, True), {0}),
        ("copy_", (), (True, True), set()),
        ("exp_", (), (True,), {0}),
        ("lerp_scalar", (("weight", 0.25),), (True, True), set()),
    ],
)
def test_what_derivatives_need(op, attrs, requires, expected):
    assert needs(op, attrs, (A,) * len(requires), requires) == expected


def test_derivatives_of_derivatives_need_cotangents_too():
    assert needs(Vjp("exp", 1), (), (A, A), (True, True)) == {0, 1}
    assert needs(Vjp("exp", 1), (), (A, A), (False, True)) == {0}
    assert needs(Vjp("add", 2), (), (A, A, A), (True, True, True)) == set()
    assert needs(Vjp("square", 1), (), (A, A), (True, False)) == {1}


def test_what_may_be_saved_besides():
    assert may_save("xlogy", (), (A, A), (True, False)) == ({0, 1}, True)
    assert may_save("copysign", (), (A, A), (False, True)) == (set(), True)
    assert may_save("add", (), (A, A), (True, True)) == (set(), False)
    assert may_save("lu", (), ((1, 1),), (True,)) == ({0}, True), "its derivative is a constant for one element alone"
    assert may_save("relu", (), ((0,),), (True,)) == ({0}, True)
    assert may_save("relu", (), ((0,),), (False,)) == (set(), False)
    assert may_save("add", (), ((0,), (0,)), (True, True)) == (set(), False)
    assert may_save(Vjp("take", 1), (("dim", 0), ("index", (2, 0))), (A, (2,)), (True, True)) == ({0, 1}, True)
