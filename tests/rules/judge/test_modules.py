"""Programs with modules: they are judged, printed and read back, and a module saves the operands that its row names."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest
import torch

from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.ops.modules import MODULES, results
from autograd_conformance.ops.tables import Op
from autograd_conformance.printing.dialect import code
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.formats.text import parse, render
from autograd_conformance.programs.language import Attrs, Backward, InPlace, Leaf, Literal, Program, Ref, Shape, Step
from autograd_conformance.programs.observations import Kind, Raised, Returned
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.saved_tensors import needs
from autograd_conformance.reference.staging.derivatives import forward_of, reaching
from autograd_conformance.rules.judge.judge import judge
from tests.ops.module_cases import CASES, FEW, Case, cotangents, each, one_of_each, tensors

TORCH = Torch()


def literal(x: np.ndarray, dtype: str = "float64") -> Literal:
    return Literal(tuple(x.ravel().tolist()), x.shape, dtype)


def program(case: Case, *between: Any, requires: tuple[bool, ...] | None = None, dtype: str = "float64") -> Program:
    """A program that applies the module to leaves, runs some instructions, and calls backward on all results."""
    wanted = case.requires() if requires is None else requires
    leaves = [Leaf(literal(v, dtype), r) for v, r in zip(case.operands(), wanted, strict=True)]
    at = len(leaves)
    made = forward_of(case.op, case.attrs, case.shapes)(*case.operands())
    roots = [Ref(at, k) for k in range(len(made))]
    reads = reaching(case.op, case.attrs, case.shapes)
    roots = [r for r, on in zip(roots, reads, strict=True) if any(wanted[k] for k in on)]
    given = tuple(literal(c, dtype) for c, _ in zip(cotangents(made), roots, strict=False))
    steps = (*leaves, case.apply(*(Ref(k) for k in range(at))), *between, Backward(tuple(roots), given))
    modes = tuple(("no_grad",) if isinstance(step, InPlace) else () for step in steps)
    return Program(steps, modes)


def verdict(program: Program, framework: Torch = TORCH) -> tuple[Any, Any]:
    """The violation, if any, and the last outcome."""
    observed = run(program, framework)
    return judge(program, observed, Reference(program), framework.capabilities).violation, observed[-1].outcome


@each
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_programs_with_modules_are_judged(case: Case, dtype: str):
    violation, outcome = verdict(program(case, dtype=dtype))
    assert violation is None
    assert isinstance(outcome, Returned)


@each
def test_a_call_reaches_every_operand(case: Case):
    leaves = tensors(case, case.requires())
    alive = [weakref.ref(leaf) for leaf in leaves]
    made = TORCH.apply(case.op, leaves, case.attrs)
    del leaves, made
    assert not any(leaf() is not None for leaf in alive)


@each
def test_operands_are_where_the_module_is_smooth(case: Case):
    row, values = MODULES[case.op], case.operands()
    assert all(row.domain(k).holds(v) for k, v in enumerate(values))
    assert row.apart is None or row.apart(*values)


def test_where_a_normalisation_is_not_smooth():
    flat, spread = np.full((3, 2), 0.5), np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.25]])
    for name in ("nn_batch_norm", "nn_layer_norm"):
        apart = MODULES[name].apart
        assert apart is not None
        assert not apart(flat)
        assert apart(np.stack([spread[:2], 2 * spread[:2]]) if name == "nn_batch_norm" else spread[:2])


@each
def test_texts_and_forms_are_read_back(case: Case):
    written = program(case)
    assert parse(render(written), VOCABULARY) == written
    assert codec.loads(codec.dumps(written), VOCABULARY) == written


@each
def test_printed_code_and_adapter_give_the_same(case: Case):
    written = program(case)
    observed = run(written, TORCH)[-1]
    scope: dict[str, Any] = {}
    exec("\n".join([TORCH.dialect.prelude, *code(written, TORCH.dialect)]), scope)
    held = [v.grad for v in scope.values() if isinstance(v, torch.Tensor) and v.is_leaf and v.requires_grad]
    expected = [g.value for g in observed.gradients.values() if g is not None]
    assert len(held) == len(expected) > 0
    assert all(np.array_equal(h.numpy(), e) for h, e in zip(held, expected, strict=True))


def subsets(case: Case) -> list[tuple[bool, ...]]:
    """Each differentiable operand as the only one that requires grad, and all together."""
    able = case.requires()
    return [*(tuple(i == k for i in range(len(able))) for k, may in enumerate(able) if may), able]


@one_of_each
def test_writes_to_operands_and_results_are_judged(case: Case):
    count = len(case.names)
    for requires in subsets(case):
        for target in (*map(Ref, range(count)), *(Ref(count, k) for k in range(results(case.op, case.attrs)))):
            write = InPlace("mul_scalar_", target, (), (("scalar", 0.5),))
            violation, _ = verdict(program(case, write, requires=requires))
            assert violation is None, f"{requires}, {target} written to: {violation}"


@one_of_each
def test_steps_of_parameters_before_the_walk_are_judged(case: Case):
    for k, able in enumerate(case.requires()):
        if able:
            first = Ref(len(case.names))
            retaining = Backward((first,), (literal(np.ones(made_shape(case))),), True)
            step = Step((Ref(k),), "sgd", (("lr", 0.5),))
            violation, outcome = verdict(program(case, retaining, step))
            assert violation is None
            assert isinstance(outcome, Returned) or outcome.kind in (Kind.MODIFIED, Kind.VIEW_WRITTEN)


def made_shape(case: Case) -> Shape:
    return np.shape(forward_of(case.op, case.attrs, case.shapes)(*case.operands())[0])


class Unnoticed(Torch):
    """A framework whose writes do not raise the version counter."""

    def write(self, op: str, target: torch.Tensor, operands: Any, attrs: Attrs) -> None:
        super().write(op, target.data, operands, attrs)


@pytest.mark.parametrize("op", ["nn_rnn", "nn_gru", "nn_lstm", "nn_linear", "nn_conv1d", "nn_attention"])
def test_a_gradient_through_changed_parameters_is_reported(op: str):
    case = next(c for c in FEW if c.op == op)
    weight = Ref(next(k for k, name in enumerate(case.names) if "weight" in name and "ih" not in name))
    violation, _ = verdict(program(case, InPlace("mul_scalar_", weight, (), (("scalar", 0.5),))), Unnoticed())
    assert violation is not None


@pytest.mark.parametrize("row", [row for row in MODULES.values() if row.also_saves], ids=lambda row: row.name)
def test_operands_that_a_row_adds_as_saved_are_observed_to_be(row: Op):
    found = set()
    for case in (c for c in CASES if c.op == row.name):
        for requires in subsets(case):
            for k in set(row.also_saves) & set(range(len(case.names))) - needs(*case[:2], case.shapes, requires):
                write = InPlace("mul_scalar_", Ref(k), (), (("scalar", 0.5),))
                _, outcome = verdict(program(case, write, requires=requires))
                if isinstance(outcome, Raised):
                    found.add(k)
    assert found == set(row.also_saves)


def test_the_weights_of_attention_do_not_come_from_the_last_projection():
    case = next(c for c in CASES if c.op == "nn_attention" and results(c.op, c.attrs) == 2)
    requires = tuple(name.startswith("out_proj") for name in case.names)
    violation, outcome = verdict(program(case, requires=requires))
    assert violation is None
    assert isinstance(outcome, Returned)
    assert [bool(on & {3, 4}) for on in reaching(case.op, case.attrs, case.shapes)] == [True, False]
