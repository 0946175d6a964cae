"""The table of in-place ops compared with PyTorch: every row's statement, reference, domains and saved values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.ops.rows.row import POOL, choices_of, rest_of
from autograd_conformance.ops.tables import OPS, Op
from autograd_conformance.programs.language import Attrs
from autograd_conformance.reference.staging.derivatives import definition, forward_of, vjp_of
from autograd_conformance.reference.staging.vjp import Vjp
from tests.ops.test_ops import (
    BACKWARD,
    FORWARD,
    INEXACT,
    Arrays,
    assert_close,
    assert_saves,
    cases,
    derived_shapes,
    describe,
    draws,
    fitted,
    reference_of,
    sampled,
    spelled,
)
from tests.reference.by_jax import by_jax

each_write = pytest.mark.parametrize("row", WRITES.values(), ids=WRITES.keys())

INEXACT_WRITES = {f"{name}_": bound for name, bound in INEXACT.items()}


def write(op: Op, attrs: Attrs, operands: list[torch.Tensor]) -> torch.Tensor:
    """Run a row's statement on the first operand, and return that operand."""
    names = dict(zip("abcdefghi", operands, strict=False))
    exec(spelled(op, attrs), {"torch": torch, "F": F, **names})
    return operands[0]


def written(op: Op, attrs: Attrs, operands: Arrays, needed: tuple[int, ...] | None = None) -> tuple[Any, torch.Tensor]:
    """The leaves, and the target, after a recorded write to a copy of the first leaf."""
    leaves = [torch.tensor(x, requires_grad=needed is None or i in needed) for i, x in enumerate(operands)]
    return leaves, write(op, attrs, [leaves[0].clone(), *leaves[1:]])


@each_write
def test_torch_and_the_reference_agree(row):
    for at, (shapes, attrs) in enumerate(sampled(row, 5)):
        dtypes = ("float64", "float32") if at == 0 else (("float32", "float64")[at % 2],)
        reference = reference_of(row, attrs, seed=at)
        for dtype in dtypes:
            label = describe(row, attrs, shapes, dtype)
            operands = fitted(row, shapes, dtype, seed=at)
            (value,), (cotangent,), gradients = reference(operands)
            assert value.shape == shapes[0], f"{label}: the new value has the shape {value.shape}"
            leaves, target = written(row, attrs, operands)
            assert target.requires_grad
            assert str(target.dtype) == f"torch.{dtype}", f"{label}: the target is now {target.dtype}"
            assert_close(target.detach().numpy(), value, FORWARD[dtype], label)
            found = torch.autograd.grad(target, leaves, torch.tensor(cotangent).to(target.dtype), allow_unused=True)
            bound = max(BACKWARD[dtype], INEXACT_WRITES.get(row.name, 0))
            for i, (gradient, expected) in enumerate(zip(found, gradients, strict=True)):
                got = np.zeros(shapes[i]) if gradient is None else gradient.numpy()
                assert_close(got, expected, bound, f"gradient {i} of {label}")


@each_write
def test_a_target_that_did_not_require_grad_does_when_its_source_does(row):
    shapes, attrs = next(cases(row))
    operands = fitted(row, shapes, "float64", seed=0)
    for i in range(1, len(shapes)):
        leaves, target = written(row, attrs, operands, needed=(i,))
        assert target.requires_grad
        ones = np.ones(shapes[0])
        _, _, gradients = reference_of(row, attrs, seed=0)(operands)
        expected = vjp_of(row.name, attrs, shapes)(*operands, ones)
        (found,) = torch.autograd.grad(target, [leaves[i]], torch.tensor(ones))
        assert len(gradients) == len(expected)
        assert_close(found.numpy(), np.asarray(expected[i]), BACKWARD["float64"], describe(row, attrs, shapes, ""))


@each_write
def test_writes_are_staged_like_ops(row):
    shapes, attrs = next(cases(row))
    operands = fitted(row, shapes, "float64", seed=0)
    cotangent = draws(np.random.default_rng(0), shapes[0])
    (expected,), gradients = by_jax(definition(row.name, attrs), operands, [cotangent])
    assert_close(np.asarray(forward_of(row.name, attrs, shapes)(*operands)[0]), expected, 1e-12, row.name)
    for found, wanted in zip(vjp_of(row.name, attrs, shapes)(*operands, cotangent), gradients, strict=True):
        assert_close(np.asarray(found), wanted, 1e-10, row.name)
    every = (*shapes, shapes[0])
    again = forward_of(Vjp(row.name, len(shapes)), attrs, every)(*operands, cotangent)
    for found, wanted in zip(again, gradients, strict=True):
        assert_close(np.asarray(found), wanted, 1e-10, row.name)


@each_write
def test_what_a_write_saves(row):
    assert_saves(row, lambda *call: written(*call)[1:])


@each_write
def test_fresh_shapes_have_few_choices(row):
    for first in row.fresh:
        assert row.accepts(first)
        assert 1 <= len(rest_of(row, first)) <= len(POOL), f"{row.name}{first}: {rest_of(row, first)}"
        for others in rest_of(row, first):
            choices = choices_of(row, (first, *others))
            assert 1 <= len(choices) <= 9, f"{row.name}{(first, *others)}: {len(choices)} choices"
            assert len(set(choices)) == len(choices), f"{row.name}{(first, *others)}: {choices} repeat"


@each_write
def test_accepted_intermediates_have_choices_too(row):
    for first in filter(row.accepts, derived_shapes()):
        assert rest_of(row, first), f"{row.name} accepts {first} but names no other operand for it"


@each_write
def test_domains_hold_what_they_fit(row):
    rng = np.random.default_rng(0)
    for shapes, _ in sampled(row, 8):
        for i, shape in enumerate(shapes):
            assert row.domain(i).holds(row.domain(i).fit(draws(rng, shape)))


RESHAPING = {"transpose", "squeeze", "unsqueeze"}
"""In-place ops that change the target's shape."""

UNDIFFERENTIATED = {"asinh", "acosh", "atanh"}
"""In-place ops that PyTorch cannot differentiate, although it can differentiate the ops themselves."""


@pytest.mark.parametrize("name", sorted(UNDIFFERENTIATED))
def test_torch_refuses_what_is_left_out(name):
    target = torch.tensor(1.5, requires_grad=True).clone()
    getattr(target, f"{name}_")()
    with pytest.raises(NotImplementedError, match="the derivative for 'inplace version of"):
        target.backward()


def test_the_table_is_wide():
    assert len(WRITES) >= 100
    assert not set(OPS) & set(WRITES)
    assert all(name == row.name and name.endswith("_") and row.family == "writes" for name, row in WRITES.items())


def test_every_op_that_torch_has_in_place_is_there():
    covered = {row.torch.split("(")[0].removeprefix("{0}.") for row in WRITES.values()}
    for op in OPS.values():
        name = op.torch.removeprefix("torch.").split("(")[0]
        if op.torch.startswith("torch.") and hasattr(torch.Tensor, f"{name}_") and op.dtype is None:
            assert f"{name}_" in covered or name in RESHAPING | UNDIFFERENTIATED, f"torch has {name} in place"
