"""PyTorch's modules as ops: staged functions, JAX and PyTorch agree; names; unequal lengths; loops."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
import torch

from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.ops.catalogue import APPLIED, WRITES
from autograd_conformance.ops.modules import MODULES, TABLE, parameters, results
from autograd_conformance.ops.random import RANDOM_OPS
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.language import RANDOM
from autograd_conformance.programs.observations import Kind
from autograd_conformance.reference.staging.derivatives import definition, forward_of, staged_vjp, vjp_of
from autograd_conformance.reference.staging.numpy_source import stage
from autograd_conformance.reference.staging.vjp import Vjp
from tests.ops.module_cases import CASES, FEW, Case, cotangents, each, recurrent, tensors
from tests.reference.by_jax import by_jax

TORCH = Torch()


def near(got: np.ndarray, want: np.ndarray, bound: float = 1e-11) -> bool:
    return np.shape(got) == np.shape(want) and bool(
        np.abs(got - want).max(initial=0.0) <= bound * max(1.0, np.abs(want).max(initial=0.0))
    )


def all_near(got: Any, want: Any, bound: float = 1e-11) -> bool:
    return all(near(np.asarray(g), np.asarray(w), bound) for g, w in zip(got, want, strict=True))


def test_the_table():
    assert MODULES.keys() == {c.op for c in CASES}
    assert not MODULES.keys() & (OPS.keys() | WRITES.keys())
    assert APPLIED == OPS.keys() | MODULES.keys() | RANDOM_OPS.keys() == TORCH.ops
    assert set(RANDOM) == {name for name, row in RANDOM_OPS.items() if row.draws}
    assert all(row.family == "modules" and row.name == name for name, row in MODULES.items())


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=() if at % 4 == 0 else pytest.mark.slow) for at, case in enumerate(CASES)],
    ids=str,
)
def test_what_is_staged_and_jax_agree(case: Case):
    values = case.operands()
    made = forward_of(case.op, case.attrs, case.shapes)(*values)
    given = cotangents(made)
    again, gradients = by_jax(definition(case.op, case.attrs), values, given)
    assert all_near(made, again)
    assert all_near(vjp_of(case.op, case.attrs, case.shapes)(*values, *given), gradients)


@each
def test_what_is_staged_and_torch_agree(case: Case):
    values = case.operands()
    made = forward_of(case.op, case.attrs, case.shapes)(*values)
    given = cotangents(made)
    pulled = vjp_of(case.op, case.attrs, case.shapes)(*values, *given)
    assert len(made) == results(case.op, case.attrs)
    leaves = tensors(case, case.requires())
    observed = TORCH.apply(case.op, leaves, case.attrs)
    differentiated = [leaf for leaf in leaves if leaf.requires_grad]
    gradients = torch.autograd.grad(observed, differentiated, [torch.tensor(g) for g in given])
    assert all_near([s.detach() for s in observed], made, 1e-10)
    assert all_near(gradients, [p for p, r in zip(pulled, case.requires(), strict=True) if r], 1e-10)


@each
def test_nothing_calls_back_into_jax(case: Case):
    assert staged_vjp(case.op, case.attrs, case.shapes).portable


@each
def test_the_names_and_shapes_are_those_of_the_module(case: Case, monkeypatch: pytest.MonkeyPatch):
    observed = []
    call = torch.func.functional_call

    def spy(module: torch.nn.Module, given: dict[str, torch.Tensor], *rest: Any) -> Any:
        kept = {name: tuple(held.shape) for name, held in module.state_dict().items() if "num_batches" not in name}
        observed.append((kept, {name: tuple(held.shape) for name, held in given.items()}))
        return call(module, given, *rest)

    monkeypatch.setattr(torch.func, "functional_call", spy)
    TORCH.apply(case.op, tensors(case, case.requires()), case.attrs)
    ((kept, given),) = observed
    assert kept == given == dict(parameters(case.op, case.attrs, case.sizes))


SECOND = tuple(c for c in CASES if c.op in ("nn_rnn", "nn_gru", "nn_lstm") and c.first[0] < 12) + FEW[3:]


@pytest.mark.parametrize("case", SECOND, ids=str)
def test_second_derivatives(case: Case):
    values, requires = case.operands(), case.requires()
    given = cotangents(forward_of(case.op, case.attrs, case.shapes)(*values))
    op, operands = Vjp(case.op, len(values)), [*values, *given]
    shapes = tuple(x.shape for x in operands)
    first = forward_of(op, case.attrs, shapes)(*operands)
    weights = cotangents(first, seed=1)
    weights = [w * r for w, r in zip(weights, requires, strict=True)]
    second = vjp_of(op, case.attrs, shapes)(*operands, *weights)
    leaves = tensors(case, requires)
    made = TORCH.apply(case.op, leaves, case.attrs)
    differentiated = [leaf for leaf in leaves if leaf.requires_grad]
    try:
        gradients = torch.autograd.grad(made, differentiated, [torch.tensor(g) for g in given], create_graph=True)
        used = [torch.tensor(w) for w, r in zip(weights, requires, strict=True) if r]
        bent = [(g, w) for g, w in zip(gradients, used, strict=True) if g.requires_grad]
        found = torch.autograd.grad([g for g, _ in bent], differentiated, [w for _, w in bent], materialize_grads=True)
    except RuntimeError as error:
        assert TORCH.classify(error) is Kind.NOT_IMPLEMENTED
        assert case.op in ("nn_attention", "nn_transformer")
        return
    assert all_near(found, [s for s, r in zip(second, requires, strict=False) if r], 1e-9)


# -- loops ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", ["nn_rnn", "nn_gru", "nn_lstm"])
def test_code_does_not_grow_with_the_sequence(op: str):
    short, long = (recurrent(op, (t, 2, 3), directions=2) for t in (3, 12))
    sizes = [len(vjp_of(c.op, c.attrs, c.shapes).__code__.co_code) for c in (short, long)]
    assert sizes[0] == sizes[1]


def test_what_the_results_of_a_loop_depend_on():
    def function(a, b, c, xs):
        def step(carry, x):
            first, second, third = carry
            return (second, third * c, third), (x, first)

        return jax.lax.scan(step, (a, b, b + 1), xs)

    source = stage(function, (), (), (), (3,))
    assert source.reads == tuple(map(frozenset, ({0, 1, 2}, {1, 2}, {1}, {3}, {0, 1, 2})))
    got = source.loaded().function(2.0, 3.0, 5.0, np.arange(3.0))
    (*carry, xs, firsts) = jax.tree.leaves(function(2.0, 3.0, 5.0, np.arange(3.0)))
    assert all_near(got, [*carry, xs, firsts])


@pytest.mark.parametrize("op", ["nn_rnn", "nn_gru", "nn_lstm"])
def test_packed_sequences_are_those_of_each_by_itself(op: str):
    lengths = (2, 4, 1)
    packed = recurrent(op, (4, 3, 3), layers=2, directions=2, state=True, lengths=lengths)
    values, states = packed.operands(), TABLE[op].results(dict(packed.attrs)) - 1
    whole, *ends = forward_of(op, packed.attrs, packed.shapes)(*values)
    for k, length in enumerate(lengths):
        own = [values[0][:length, k : k + 1], *(s[:, k : k + 1] for s in values[1 : 1 + states])]
        single = recurrent(op, (length, 1, 3), layers=2, directions=2, state=True)
        out, *last = forward_of(op, single.attrs, single.shapes)(*own, *values[1 + states :])
        assert near(whole[:length, k : k + 1], out)
        assert not whole[length:, k].any()
        assert all_near([e[:, k : k + 1] for e in ends], last)
