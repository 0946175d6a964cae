"""Bounds: correct results are inside and wrong ones outside, for well- and ill-conditioned computations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from autograd_conformance.checking.audit.programs import sample
from autograd_conformance.checking.check import violation_of
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.dtypes import DTYPES
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Apply, Backward, Leaf, Literal, Program, Ref
from autograd_conformance.programs.observations import Returned
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.rounding.bounds import close, forward_bound, gradient_bound, working_dtype
from autograd_conformance.rules.judge.judge import judge
from autograd_conformance.strategies.building import alphabet
from autograd_conformance.strategies.building.drawn import Drawn
from autograd_conformance.strategies.random_programs import programs
from autograd_conformance.strategies.situations import gradients

INEXACT = frozenset({"hardsigmoid", "digamma", "matrix_exp"})
"""Ops whose gradients PyTorch is known to compute less accurately than their dtype allows."""

TORCH = Torch()

some = settings(
    max_examples=20, deadline=None, database=None, phases=[Phase.generate], derandomize=True,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def exact_ops() -> Iterator[None]:
    """A draft without the ops that PyTorch is known to compute inaccurately."""
    with alphabet.using(alphabet.current().without(INEXACT)):
        yield


def errors(program: Program) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """For every value and every first gradient: PyTorch's result, the exact number, and the bound."""
    reference, dtype = Reference(program), working_dtype(program)
    held: set[Ref] = set()
    for at, (step, observed) in enumerate(zip(program, run(program, TORCH), strict=True)):
        if not isinstance(observed.outcome, Returned):
            continue
        if isinstance(step, Apply):
            for k, tensor in enumerate(observed.outcome.values):
                yield tensor.value, reference.values[Ref(at, k)], forward_bound(reference, Ref(at, k), dtype).array()
        if isinstance(step, Backward):
            for leaf, gradient in observed.gradients.items():
                if gradient is not None and leaf not in held:
                    held.add(leaf)
                    yield (
                        gradient.value,
                        reference.pullbacks.of(step)[leaf],
                        gradient_bound(reference, step, leaf, dtype).array(),
                    )


@some
@given(drawn=programs(8))
def test_right_answers_are_inside(drawn: Drawn):
    for got, want, bound in errors(drawn.program):
        assert (np.abs(got - want) <= bound).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_right_answers_of_single_ops_are_inside(dtype: str):
    for name in sorted(set(OPS) - INEXACT)[::4]:
        for got, want, bound in errors(sample(name, 7, dtype)):
            assert (np.abs(got - want) <= bound).all(), name


WELL_CONDITIONED = [
    "a = leaf [1, 2, -3]; b = multiply a a; backward b with [1, -1, 2]",
    "a = leaf [0.5, 1, 2]; b = sin a; c = exp b; backward c with [1, 1, 1]",
    "a = leaf [[1, 2], [3, 4]]; b = matmul a a; c = matmul b a; backward c with [[1, 2], [0, -1]]",
    "a = leaf [3, 2]; b = tanh a; c = sigmoid b; d = multiply c a; backward d with [1, 1]",
    "a = leaf 2; b = multiply a a; c = multiply b b; d = multiply c c; e = multiply d d; backward e",
    "a = leaf [1, 2, 4]; b = softmax a dim=0; backward b with [1, 2, -1]",
]


@pytest.mark.parametrize("text", WELL_CONDITIONED)
def test_a_small_error_is_outside_where_the_computation_is_well_conditioned(text: str):
    for dtype, relative in (("float64", 1e-6), ("float64", 1e-12), ("float32", 1e-3)):
        assert_outside(text, dtype, relative)


@pytest.mark.parametrize("text", [WELL_CONDITIONED[0], "a = leaf [0.5, 1, 2]; b = exp a; backward b with [1, 1, 2]"])
@pytest.mark.parametrize(("dtype", "relative"), [("float16", 0.05), ("bfloat16", 0.4)])
def test_an_error_of_a_single_op_is_outside_in_few_digits(text: str, dtype: str, relative: float):
    assert_outside(text, dtype, relative)


def assert_outside(text: str, dtype: str, relative: float) -> None:
    """Asserts that a relative error is outside of the bound of a program's gradient, and of its last value."""
    program = retyped(parse(text, VOCABULARY), dtype)
    reference, call = Reference(program), program[-1]
    assert isinstance(call, Backward)
    want = reference.pullbacks.of(call)[Ref(0)]
    bound = gradient_bound(reference, call, Ref(0), dtype).array()
    assert (np.abs(want * relative) > bound).any(), f"{dtype}: {bound} hides {relative}"
    last = Ref(len(program) - 2)
    assert (np.abs(reference.values[last] * relative) > forward_bound(reference, last, dtype).array()).any()


@some
@given(drawn=gradients.whole_graphs())
def test_a_small_error_is_outside_in_drawn_graphs(drawn: Drawn):
    program = drawn.program
    if working_dtype(program) == "float32":
        return
    reference, call = Reference(program), program[-1]
    assert isinstance(call, Backward)
    for leaf, want in reference.pullbacks.of(call).items():
        if isinstance(program[leaf.at], Leaf) and np.abs(want).max(initial=0) > 1e-6:  # saturated gates leave less
            wrong = want + 1e-6 * np.abs(want).max()
            assert not close(wrong, want, "float64")
            assert (np.abs(wrong - want) > gradient_bound(reference, call, leaf, "float64").array()).any()


def retyped(program: Program, dtype: str) -> Program:
    """The program with all its tensors in one dtype."""
    steps = []
    for step in program:
        match step:
            case Leaf(value):
                step = replace(step, value=replace(value, dtype=dtype))
            case Backward(_, cotangents):
                step = replace(step, cotangents=tuple(c and replace(c, dtype=dtype) for c in cotangents))
        steps.append(step)
    return Program(tuple(steps))


ILL_CONDITIONED = [
    "a = leaf f32 [0.125, 0.75]; b = add_scalar a scalar=1e8; c = subtract_scalar b scalar=1e8;"
    "d = multiply c c; backward d with f32 [1, 1]",
    "a = leaf f32 [0.375, 1.625]; b = multiply_scalar a scalar=123456.7; c = sin b; backward c with f32 [1, 1]",
    "a = leaf f32 [7, 8]; b = tanh a; backward b with f32 [1, 1]",
]


@pytest.mark.parametrize("text", ILL_CONDITIONED)
def test_what_cancellation_loses_is_inside(text: str):
    """Errors from cancellation are inside the bound; a fixed relative tolerance would report a false alarm here."""
    program = parse(text, VOCABULARY)
    wolves = 0
    for got, want, bound in errors(program):
        wolves += not np.allclose(got, want, rtol=1e-4, atol=0)
        assert (np.abs(got - want) <= bound).all()
    assert wolves
    assert judge(program, run(program, TORCH), Reference(program), TORCH.capabilities).violation is None


FAR = [
    ("a = leaf f32 -77.5; b = multiply a a; c = multiply b b; d = sin c; backward d", 4 * 77.5**3),
    ("a = leaf 12345.678; b = square a; c = square b; d = cos c; backward d", 4 * 12345.678**3),
    ("a = leaf bf16 25; b = square a; d = sin b; backward d", 50),
]


@pytest.mark.parametrize(("text", "steepest"), FAR)
def test_where_a_rounding_is_longer_than_a_wave_every_value_of_the_derivative_is_inside(text: str, steepest: float):
    program = parse(text, VOCABULARY)
    reference, call = Reference(program), program[-1]
    assert isinstance(call, Backward)
    bound = gradient_bound(reference, call, Ref(0), working_dtype(program))
    assert bound.allows(np.full((), 2 * steepest)) and not bound.allows(np.full((), 1e3 * steepest))
    assert bound.curved().max() > 2 * steepest


def test_perturbations_as_large_as_roundings_allow_no_more_where_nothing_is_curved():
    program = parse("a = leaf f32 [1.5, 2.5]; b = square a; c = sin b; backward c with f32 [1, 1]", VOCABULARY)
    bound = gradient_bound(Reference(program), program[-1], Ref(0), "float32")  # type: ignore[arg-type]
    assert (bound.curved() <= 1.5 * bound.array()).all()


@pytest.mark.parametrize(("text", "likely", "absurd"), [(0, 1.0, 1e4), (1, 1e2, 1e6), (2, 1e-8, 1e-4)])
def test_a_large_error_is_outside_even_there(text: int, likely: float, absurd: float):
    program = parse(ILL_CONDITIONED[text], VOCABULARY)
    reference, call = Reference(program), program[-1]
    assert isinstance(call, Backward)
    bound = gradient_bound(reference, call, Ref(0), working_dtype(program)).array()
    assert (bound > likely).all()
    assert (bound < absurd).all()


def test_each_number_is_bounded_in_its_own_dtype():
    program = parse(
        "a = leaf [1.1, 2.3]; b = leaf f32 [0.5, 3]; c = multiply a b; backward c with [1.7, 2.9]", VOCABULARY
    )
    reference, call = Reference(program), program[-1]
    assert isinstance(call, Backward)
    bounds = [gradient_bound(reference, call, leaf, working_dtype(program)).array() for leaf in (Ref(0), Ref(1))]
    assert (bounds[0] < 1e-11).all()
    assert (bounds[1] > 1e-7).all()
    assert (forward_bound(reference, Ref(2), "float32").array() < 1e-11).all()


def by_difference(x: float) -> np.floating:
    """Computes relu6 in float32 as the difference of two numbers as large as the operand."""
    number = np.float32(x)
    return max(number, np.float32(0)) - max(number - np.float32(6), np.float32(0))


def test_no_rounding_of_a_large_operand_explains_a_small_result_of_one_element():
    reference = Reference(parse("a = leaf f32 [1e10]; b = relu6 a", VOCABULARY))
    assert not forward_bound(reference, Ref(1), "float32").allows(
        np.abs(by_difference(1e10) - reference.values[Ref(1)])
    )


def test_a_formula_may_have_moderate_numbers_on_its_way_to_a_small_result():
    reference = Reference(parse("a = leaf f32 [60]; b = relu6 a", VOCABULARY))
    off = np.array([np.spacing(np.float32(60))])
    assert forward_bound(reference, Ref(1), "float32").allows(off)


VANISHING = [
    "a = leaf [1, -0.125]; b = hypot a a; backward b with [1, -3] create=True; c = held a; "
    "backward c with [1, -3] create=True; d = held a; backward d with [1, -3]",
    "a = leaf [1, 2, 3]; b = reshape a shape=(3,); c = cosine_similarity a b dim=0; backward c with 20 create=True; "
    "d = held a; backward d with [20, -55, 3] create=True; e = held a; backward e with [1, 20, 55]",
]


NEARLY_EQUAL = """
    a = leaf f32 [[[0.25, -0.375, -0.75], [1, -0.375, -0.5]], [[-0.875, -0.75, -0.875], [0, -0.125, -0.875]]]
    b = nn_layer_norm a normalized_shape=(3,) affine=False; c = sin b; d = sum c dim=(0,1,2) keepdim=False; backward d
"""
"""A norm of nearly equal numbers, whose gradient is dominated by their rounding errors: off by 2e-5 in float32, and by
its rounding error in float64."""


@pytest.mark.parametrize("text", [NEARLY_EQUAL, NEARLY_EQUAL.replace("f32", "")])
def test_a_module_has_the_roundings_of_several_ops(text: str):
    program = parse(text.strip().replace("\n", ";"), VOCABULARY)
    assert judge(program, run(program, TORCH), Reference(program), TORCH.capabilities).violation is None


@pytest.mark.parametrize("text", VANISHING)
def test_derivatives_that_vanish_may_do_so_up_to_rounding(text: str):
    program = parse(text, VOCABULARY)
    assert judge(program, run(program, TORCH), Reference(program), TORCH.capabilities).violation is None


def test_what_an_error_makes_where_the_derivative_is_zero_is_inside():
    reference = Reference(parse("a = leaf f32 [1.5]; b = log_softmax a dim=0; c = square b", VOCABULARY))
    error = forward_bound(reference, Ref(1), "float32").array() / 2
    assert reference.values[Ref(1)] == 0.0
    assert forward_bound(reference, Ref(2), "float32").allows(error**2)


def test_two_roundings_of_one_size_do_not_cancel_in_every_run():
    program = Program((Leaf(Literal((1.0,) * 20_000, (20_000,), "float32")), Apply("sinc", (Ref(0),))))
    bounds = forward_bound(Reference(program), Ref(1), "float32").array()
    assert bounds.min() > np.median(bounds) / 8


SECOND = (
    "a = leaf f32 [0.875]; b = normalize a dim=0; c = leaf f32 [{}]; d = multiply b c; "
    "backward d create=True; e = held a; backward e"
)


def test_a_second_derivative_of_which_little_is_left_is_inside():
    assert violation_of(parse(SECOND.format(52.5), VOCABULARY), InProcess(Torch())) is None


def test_the_bound_of_a_second_derivative_is_as_large_as_the_cotangent_of_the_first():
    def bound(cotangent: float) -> float:
        program = parse(SECOND.format(cotangent), VOCABULARY)
        reference, call = Reference(program), program[-1]
        assert isinstance(call, Backward)
        return float(gradient_bound(reference, call, reference.tape.edge(Ref(0)), "float32").array().max())

    assert bound(1024.0) == pytest.approx(1024 * bound(1.0))


def test_the_cheap_comparison_looks_at_shape_and_scale():
    want = np.array([1.0, 100.0])
    assert close(want + 1e-13, want, "float64")
    assert not close(want + 1e-11, want, "float64")
    assert close(want + 1e-5, want, "float32")
    assert not close(want[:1], want, "float32")
    assert not close(np.array([np.nan]), np.array([1.0]), "float32")
    assert close(np.zeros((0, 3)), np.zeros((0, 3)), "float64")


@pytest.mark.parametrize(
    ("text", "dtype"),
    [
        ("a = leaf 1; b = exp a", "float64"),
        ("a = leaf f32 1; b = exp a", "float32"),
        ("a = leaf 1; c = leaf f32 1 const", "float32"),
        ("a = leaf 1; b = astype_float32 a", "float32"),
        ("a = leaf f32 1; b = astype_float64 a", "float32"),
    ],
)
def test_the_narrowest_dtype_counts(text: str, dtype: str):
    assert working_dtype(parse(text)) == dtype


@pytest.mark.slow
@some
@given(drawn=programs(8))
def test_few_runs_allow_no_more_than_all(drawn: Drawn):
    for at, (step, observed) in enumerate(zip(drawn.program, run(drawn.program, TORCH), strict=True)):
        if isinstance(step, Apply) and isinstance(observed.outcome, Returned):
            dtype = working_dtype(drawn.program)
            largest = forward_bound(drawn.reference, Ref(at), dtype).array()
            for share in (0.001, 0.1, 0.99, 1.01, 3.0):
                bound = forward_bound(drawn.reference, Ref(at), dtype)
                assert bound.allows(share * largest) == (share < 1 or not largest.size), (at, share)


def test_a_number_without_elements_bounds_no_alias_of_it() -> None:
    program = parse("a = leaf (0,3) []; b = exp a; backward b with (0,3) []")
    bound = forward_bound(Reference(program), Ref(1), "float64")
    assert bound.array((0,)).shape == (0,)
    assert np.isinf(bound.array((2,))).all()
