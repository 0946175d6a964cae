"""The op catalogue compared with PyTorch: every row's code, reference, domains, shapes and saved values. Both run a
bounded, fixed sample of each row's shapes, attributes and values, in float32 and in float64.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice, product
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from autograd_conformance.ops.catalogue import MAY_BE_VIEWS, WRITES
from autograd_conformance.ops.rows.row import LARGEST, POOL, Certainty, arity, choices_of, rest_of
from autograd_conformance.ops.tables import FAMILIES, OPS, VIEWS, Op
from autograd_conformance.printing.dialect import fill
from autograd_conformance.programs.dtypes import narrowest
from autograd_conformance.programs.language import Attrs, Shape
from autograd_conformance.reference.staging.derivatives import forward_of, vjp_of
from autograd_conformance.strategies.building.tensors import LARGE

SAMPLES = 3
FORWARD = {"bfloat16": 1e-2, "float16": 1e-3, "float32": 2e-4, "float64": 1e-10}
BACKWARD = {"bfloat16": 1e-2, "float16": 1e-3, "float32": 5e-4, "float64": 1e-9}
INEXACT = {"hardsigmoid": 1e-7}
"""Ops whose float64 gradients PyTorch computes less accurately: the slope of hardsigmoid is 1/6 rounded to float32."""

Arrays = list[np.ndarray]
pytestmark = pytest.mark.filterwarnings("ignore:reduction. 'mean' divides:UserWarning")
each_row = pytest.mark.parametrize("row", OPS.values(), ids=OPS.keys())


def draws(rng: np.random.Generator, shape: Shape) -> np.ndarray:
    """Values as strategies draw them: multiples of 1/8 between -4 and 4, including zeros."""
    return rng.integers(-32, 33, shape) / 8 * (rng.random(shape) > 0.1)


def cases(op: Op) -> Iterator[tuple[tuple[Shape, ...], Attrs]]:
    """All shapes of new leaves with all attributes; the first attributes of every shape come first."""
    for first in op.fresh:
        for others in rest_of(op, first):
            for attrs in choices_of(op, (first, *others)):
                yield (first, *others), attrs


def sampled(op: Op, count: int = SAMPLES) -> list[tuple[tuple[Shape, ...], Attrs]]:
    """The simplest case, and a few others that are the same in every run."""
    first, *others = list(cases(op))
    rng = np.random.default_rng(zlib.crc32(op.name.encode()))
    chosen = rng.permutation(len(others))[: count - 1]
    return [first, *(others[i] for i in sorted(chosen))]


def fitted(op: Op, shapes: tuple[Shape, ...], dtype: str, seed: int) -> Arrays:
    """Operands in their domains, moved apart if the row requires it."""
    rng = np.random.default_rng(seed)
    for _ in range(200):
        values = [op.domain(i).fit(draws(rng, shape)).astype(dtype) for i, shape in enumerate(shapes)]
        if op.apart is None or op.apart(*values):
            return values
    raise AssertionError(f"{op.name}: no operands of {shapes} are apart")


def test_an_op_has_as_many_operands_as_its_code_names():
    for op in (*OPS.values(), *WRITES.values()):
        found = list(cases(op))
        assert {len(shapes) for shapes, _ in found} == {arity(op)}, op.name
        code = fill(op.template, [f"<{k}>" for k in range(9)], found[0][1])
        assert {int(k) for k in re.findall(r"<(\d)>", code)} == set(range(arity(op))), op.name


def spelled(op: Op, attrs: Attrs) -> str:
    return op.torch.format(*"abcdefghi", **{name: repr(value) for name, value in attrs})


def code(op: Op, attrs: Attrs, operands: int) -> Any:
    """The row's PyTorch code as a function."""
    names = "abcdefghi"[:operands]
    return eval(f"lambda {', '.join(names)}: {spelled(op, attrs)}", {"torch": torch, "F": F})


def tupled(results: Any) -> tuple[Any, ...]:
    return tuple(results) if isinstance(results, tuple | list) else (results,)


def run_torch(op: Op, attrs: Attrs, operands: Arrays, needed: tuple[int, ...] | None = None) -> tuple[Any, Any]:
    """The leaves and the results in PyTorch."""
    leaves = [torch.tensor(x) for x in operands]
    for i, leaf in enumerate(leaves):
        leaf.requires_grad_(needed is None or i in needed)
    return leaves, tupled(code(op, attrs, len(leaves))(*leaves))


def reference_of(op: Op, attrs: Attrs, seed: int) -> Callable[[Arrays], tuple[Arrays, Arrays, Arrays]]:
    """The function from operands to results, cotangents drawn for them, and the resulting gradients."""

    def both(operands: Arrays) -> tuple[Arrays, Arrays, Arrays]:
        given, shapes = [x.astype("float64") for x in operands], tuple(x.shape for x in operands)
        made = [np.asarray(each) for each in forward_of(op.name, attrs, shapes)(*given)]
        rng = np.random.default_rng(seed)
        cotangents = [draws(rng, each.shape) for each in made]
        return made, cotangents, [np.asarray(each) for each in vjp_of(op.name, attrs, shapes)(*given, *cotangents)]

    return both


def assert_close(found: np.ndarray, expected: np.ndarray, relative: float, label: str) -> None:
    assert found.shape == expected.shape, f"{label}: shape {found.shape}, expected {expected.shape}"
    assert np.isfinite(expected).all(), f"{label}: the reference is {expected}"
    scale = np.abs(expected).max(initial=0.0) + 1e-2
    error = np.abs(found - expected).max(initial=0.0) / scale
    assert error <= relative, f"{label}: off by {error:.1e} of {scale:.2g}\n found {found}\n expected {expected}"


def describe(op: Op, attrs: Attrs, shapes: tuple[Shape, ...], dtype: str) -> str:
    return f"{spelled(op, attrs)} for {dtype} operands of shapes {', '.join(map(str, shapes))}"


@each_row
def test_torch_and_the_reference_agree(row):
    for at, (shapes, attrs) in enumerate(sampled(row)):
        dtypes = ("float64", "float32") if at == 0 else (("float32", "float64")[at % 2],)
        reference = reference_of(row, attrs, seed=at)
        for dtype in dtypes:
            label = describe(row, attrs, shapes, dtype)
            operands = fitted(row, shapes, dtype, seed=at)
            expected, cotangents, gradients = reference(operands)
            leaves, results = run_torch(row, attrs, operands)
            assert len(results) == len(expected), f"{label}: {len(results)} results, expected {len(expected)}"
            for result, value in zip(results, expected, strict=True):
                assert str(result.dtype) == f"torch.{row.dtype or dtype}", f"{label}: the result is {result.dtype}"
                assert result.requires_grad, f"{label}: a result does not require grad"
                assert not result.is_leaf, f"{label}: a result is a leaf"
                assert value.size <= LARGEST, f"{label}: the result has {value.size} elements"
                coarse = narrowest((dtype, row.dtype or dtype))
                assert_close(result.detach().double().numpy(), value, FORWARD[coarse], label)
            arriving = [torch.tensor(c).to(r.dtype) for c, r in zip(cotangents, results, strict=True)]
            found = torch.autograd.grad(results, leaves, arriving)
            for i, (gradient, value) in enumerate(zip(found, gradients, strict=True)):
                assert_close(
                    gradient.numpy(), value, max(BACKWARD[coarse], INEXACT.get(row.name, 0)), f"gradient {i} of {label}"
                )


def assert_saves(row: Op, results_of: Callable[..., Sequence[torch.Tensor]]) -> None:
    """A second backward call through the results of an op, or of a write, must raise if and only if the row says that
    the op saves something.
    """

    def raises_freed(*call: Any) -> bool:
        live = [r for r in results_of(row, *call) if r.requires_grad]
        ones = [torch.ones_like(r) for r in live]
        torch.autograd.backward(live, ones)
        try:
            torch.autograd.backward(live, ones)
        except RuntimeError as error:
            assert "Trying to backward through the graph a second time" in str(error)
            return True
        return False

    for at, (shapes, attrs) in enumerate(sampled(row, 12)):
        if any(0 in shape for shape in shapes):
            continue
        operands = fitted(row, shapes, "float64", seed=at)
        label = describe(row, attrs, shapes, "float64")
        if row.saves is not Certainty.MAYBE:
            raised = raises_freed(attrs, operands)
            assert raised == (row.saves is Certainty.ALWAYS), f"{label}: a second backward raises: {raised}"
        if row.saves is Certainty.ALWAYS:
            for i in range(len(shapes)):
                raised = raises_freed(attrs, operands, (i,))
                assert raised or i in row.unsaved, f"{label}: only operand {i} requires grad; a second backward passes"


@each_row
def test_what_an_op_saves(row):
    assert_saves(row, lambda *call: run_torch(*call)[1])


@each_row
def test_domains_hold_what_they_fit(row):
    shapes = {shape for case, _ in islice(cases(row), 0, None, 7) for shape in case} | set(row.fresh)
    for i, shape in product(range(len(next(cases(row))[0])), sorted(shapes)):
        domain = row.domain(i)
        if not fits_rank(row, i, shape):
            continue
        for seed in range(3):
            values = domain.fit(draws(np.random.default_rng(seed), shape))
            assert values.shape == shape
            assert domain.holds(values), f"{domain.name} does not hold {values}"
            assert domain.holds(values.astype("float32")), f"{domain.name} does not hold {values} in float32"


def fits_rank(op: Op, operand: int, shape: Shape) -> bool:
    """Whether some case gives the operand that shape: domains of matrices contain no vectors."""
    return any(case[operand] == shape for case, _ in cases(op))


@each_row
def test_fresh_shapes_are_accepted_and_have_few_choices(row):
    assert row.fresh
    for first in row.fresh:
        assert row.accepts(first), f"{row.name} does not accept {first}"
        assert 1 <= len(rest_of(row, first)) <= len(POOL), (
            f"{row.name}{first}: {len(rest_of(row, first))} operand shapes"
        )
        for others in rest_of(row, first):
            choices = choices_of(row, (first, *others))
            assert 1 <= len(choices) <= 9, f"{row.name}{(first, *others)}: {len(choices)} choices"
            assert len(set(choices)) == len(choices), f"{row.name}{(first, *others)}: {choices} repeat"
            hash(choices)


@cache
def derived_shapes() -> tuple[Shape, ...]:
    """The shapes of the pool, and those of results, which any op that accepts them may get."""
    made = set(POOL)
    for op in OPS.values():
        made |= {shape for case, _ in sampled(op, 10) for shape in case}
    return tuple(sorted(made | {(*s, 1) for s in made} | {(*s[1:], *s[:1]) for s in made} | {s[1:] for s in made}))


@each_row
def test_accepted_intermediates_have_choices_too(row):
    for first in filter(row.accepts, derived_shapes()):
        assert rest_of(row, first), f"{row.name} accepts {first} but names no other operand for it"
        for others in rest_of(row, first):
            assert choices_of(row, (first, *others)), f"{row.name} accepts {(first, *others)} but offers no attributes"


def test_the_catalogue_is_wide():
    assert len(OPS) >= 130
    assert len(OPS) == sum(len(family) for family in FAMILIES), "a name stands in two families"
    assert all(name == op.name for name, op in OPS.items())
    assert {op.family for op in OPS.values()} == set(FAMILY_NAMES)
    assert sum(1 for op in OPS.values() if op.saves is Certainty.NEVER) >= 30


FAMILY_NAMES = [
    "recurrent",
    "elementwise",
    "binary",
    "activations",
    "reductions",
    "cumulative",
    "manipulation",
    "images",
    "joining",
    "splitting",
    "indexing",
    "diagonals",
    "products",
    "losses",
    "normalisation",
    "convolution",
    "pooling",
    "fourier",
    "complex numbers",
    "linalg",
    "decompositions",
    "distances",
    "margins",
]


def test_some_ops_have_several_results():
    several = {op.name for op in OPS.values() if len(run_torch(op, *_simplest(op))[1]) > 1}
    assert {"split", "unstack", "slogdet", "var_mean"} <= several


def memory(tensor: torch.Tensor) -> int:
    """The address of a tensor's memory."""
    return tensor.untyped_storage().data_ptr()


def strided(tensor: torch.Tensor) -> torch.Tensor:
    """A recorded copy whose elements are not in row-major order, if the shape allows that."""
    return tensor.mT.clone(memory_format=torch.contiguous_format).mT if tensor.ndim > 1 else tensor.clone()


@each_row
def test_which_results_share_memory(row):
    for shapes, attrs in cases(row):
        leaves = [torch.tensor(x, requires_grad=True) for x in fitted(row, shapes, "float64", seed=0)]
        for copied in (torch.clone, strided)[: 1 if row.name == "kron" else 2]:  # which refuses strided operands
            operands = [copied(leaf) for leaf in leaves]
            label = describe(row, attrs, shapes, "float64")
            results = tupled(code(row, attrs, len(operands))(*operands))
            for result in (r for r in results if r.numel()):
                shared = [k for k, operand in enumerate(operands) if memory(operand) == memory(result)]
                assert not any(result is operand for operand in operands), f"{label}: a result is an operand itself"
                assert shared in ([], [0]), f"{label}: a result shares the memory of operands {shared}"
                if row.name not in MAY_BE_VIEWS:
                    assert not result._is_view(), f"{label}: a result is a view of what nobody sees"
                if shared:
                    assert row.aliases is not Certainty.NEVER, f"{label}: a result shares the operand's memory"
                    assert result._is_view(), f"{label}: a result shares memory, and is not a view"
                else:
                    assert row.aliases is not Certainty.ALWAYS, f"{label}: a result has memory of its own"


def views_of(op: Op) -> Iterator[tuple[str, torch.Tensor]]:
    """Recorded results with elements, of every case of an op."""
    for shapes, attrs in cases(op):
        (leaf,) = [torch.tensor(x, requires_grad=True) for x in fitted(op, shapes, "float64", seed=0)]
        for result in tupled(code(op, attrs, 1)(leaf.clone())):
            if result.numel():
                yield describe(op, attrs, shapes, "float64"), result


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_which_views_torch_refuses_to_write_to(name):
    row = OPS[name]
    messages = set()
    for label, view in views_of(row):
        try:
            view.add_(1)
        except RuntimeError as error:
            messages.add(str(error))
            several = "the output of a function that returns multiple views" in str(error)
            alone = "more than one element of the written-to tensor" in str(error)
            assert several or alone, f"{label}: {error}"
            assert several == row.multi, f"{label}: {error}"
            assert alone == row.overlaps, f"{label}: {error}"
        else:
            assert not row.multi, f"{label}: may be written to"
    assert bool(messages) == (row.multi or name == "broadcast_to")


def test_overlapping_windows_are_written_to_and_torch_does_not_see_it():
    windows = torch.zeros(3).unfold(0, 2, 1)
    windows.add_(1)
    assert OPS["unfold"].overlaps
    assert windows[0, 1] in (1, 2)


def _simplest(op: Op) -> tuple[Attrs, Arrays]:
    shapes, attrs = next(cases(op))
    return attrs, fitted(op, shapes, "float64", seed=0)


@pytest.mark.parametrize("op", ["gru", "gru_bidirectional"])
def test_large_numbers_do_not_shut_gates(op: str):
    """A derivative of a shut gate is the difference of two numbers near one, and so consists of their rounding errors
    only.
    """
    values = np.array([1.0, -4.0])
    assert all(domain.holds(values) and not domain.holds(values * LARGE) for domain in map(OPS[op].domain, range(9)))


def test_a_product_of_a_matrix_with_one_row_and_stacked_ones_may_be_a_view():
    """The result is not a view of an operand: PyTorch multiplies the transposes, and transposes the result."""
    row, stacked = torch.ones(1, 2), torch.ones(2, 2, 3, requires_grad=True)
    made = row.requires_grad_() @ stacked
    assert made._is_view()
    assert memory(made) not in (memory(row), memory(stacked))
    assert "matmul" in MAY_BE_VIEWS
