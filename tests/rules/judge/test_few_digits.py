"""Programs in float16 and bfloat16: right results pass, faults of precision are found, and errors do not add up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch

from autograd_conformance.checking.check import is_advisory, passes, violation_of
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Attrs, Ref
from autograd_conformance.programs.observations import Kind, Raised

PLAIN = InProcess(Torch())

Results = Sequence[torch.Tensor]


class Changed(Torch):
    """PyTorch with a function that changes what ops return."""

    def __init__(self, change: Callable[[str, Results, Results], Results]) -> None:
        super().__init__()
        self.change = change

    def apply(self, op: str, operands: Results, attrs: Attrs) -> Results:
        return self.change(op, operands, super().apply(op, operands, attrs))


class Scaled(torch.autograd.Function):
    """The identity, with a gradient that is a part too large."""

    @staticmethod
    def forward(ctx, x, by):
        ctx.by = by
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.by, None


def through_float16(op: str, operands: Results, results: Results) -> Results:
    """An op in bfloat16 that computes in float16, which has a smaller range."""
    return [each.to(torch.float16).to(torch.bfloat16) for each in results]


def widened(op: str, operands: Results, results: Results) -> Results:
    """Results in float32."""
    return [each.float() for each in results]


def promoted_wrongly(op: str, operands: Results, results: Results) -> Results:
    """Results of the first operand's dtype, where it meets another."""
    return [each.to(operands[0].dtype) for each in results]


def steep(op: str, operands: Results, results: Results) -> Results:
    """Gradients a quarter too large."""
    return [Scaled.apply(each, 1.25) for each in results]


def slightly_steep(op: str, operands: Results, results: Results) -> Results:
    """Gradients an eighth too large: within the errors of a kernel that rounds at every step."""
    return [Scaled.apply(each, 1.125) for each in results]


def lost_beside(op: str, operands: Results, results: Results) -> Results:
    """NaN in the place of the last element."""
    return [each + torch.tensor([0.0] * (each.numel() - 1) + [torch.nan], dtype=each.dtype) for each in results]


def half_kept(op: str, operands: Results, results: Results) -> Results:
    """Dropout masks whose scale is an eighth too large."""
    return [each * 1.125 if op == "dropout_mask" else each for each in results]


FAULTS = [
    (half_kept, "a = leaf bf16 [2, 1, 3]; b = dropout_mask a p=0.25 seed=0", "networks/random"),
    (through_float16, "a = leaf bf16 [300, 1]; b = multiply a a", "gradients/forward"),
    (widened, "a = leaf bf16 [2, 1]; b = sin a; backward b with bf16 [1, 1]", "gradients/forward"),
    (promoted_wrongly, "a = leaf bf16 [2, 1]; b = leaf f16 [3, 4]; c = multiply a b", "gradients/forward"),
    (steep, "a = leaf bf16 [2, 1]; b = sin a; backward b with bf16 [1, 1]", "gradients/op"),
    (slightly_steep, "a = leaf bf16 [2, 1]; b = sin a; backward b with bf16 [1, 1]", "gradients/digits"),
    (slightly_steep, "a = leaf bf16 [2, 1]; b = sin a; c = grad b wrt a with bf16 [1, 1]", "gradients/digits"),
    (steep, "a = leaf f16 [2, 1]; b = sin a; backward b with f16 [1, 1]", "gradients/op"),
    # an element beyond the range is not judged, and those beside it are
    (lost_beside, "a = leaf f16 [300, 2]; b = square a; backward b with f16 [1, 1]", "gradients/digits"),
]


@pytest.mark.parametrize(("change", "text", "rule"), FAULTS)
def test_faults_are_found(change, text, rule):
    program = parse(text, VOCABULARY)
    assert passes(program, PLAIN)
    violation = violation_of(program, InProcess(Changed(change)))
    assert violation is not None
    assert violation.rule == rule


CHAIN = 30
"""Number of ops in a row; with an error of one rounding each, no digit of bfloat16 would be left."""


@pytest.mark.parametrize("short", ["f16", "bf16"])
def test_errors_do_not_add_up(short):
    lines = [f"a0 = leaf {short} [1.5, 0.75]", *(f"a{k + 1} = sin a{k}" for k in range(CHAIN))]
    right = "; ".join([*lines, f"backward a{CHAIN} with {short} [1, 1]"])
    assert passes(parse(right, VOCABULARY), PLAIN)

    def late(op: str, operands: Results, results: Results) -> Results:
        late.calls += 1
        return [each * 1.125 for each in results] if late.calls == CHAIN else results

    late.calls = 0
    violation = violation_of(parse(right, VOCABULARY), InProcess(Changed(late)))
    assert violation is not None
    assert violation.at == CHAIN


def test_an_infinity_on_the_way_may_make_a_third_derivative_nan():
    """The cube of 80 is beyond float16, and the third derivative of tanh is 0 there; perturbed runs are NaN, too."""
    calls = "backward d with f16 [1, 2] create=True; e = held a; backward e with f16 [1, 2] create=True; f = held a"
    end = "g = exp f; backward g with f16 [1, 2]"
    program = parse(f"a = leaf f16 [80, 5]; b = multiply a a; c = tanh b; d = multiply c c; {calls}; {end}", VOCABULARY)
    assert np.isnan(PLAIN.observe(program)[-1].gradients[Ref(0)].value).any()  # type: ignore[union-attr]
    assert passes(program, PLAIN)


@pytest.mark.parametrize("text", ["a = leaf f16 [300]; b = multiply a a", "a = leaf f16 [-300]; b = multiply a a"])
def test_a_result_beyond_the_range_is_not_compared(text):
    program = parse(text, VOCABULARY)
    assert np.isinf(PLAIN.observe(program)[1].outcome.values[0].value).all()
    assert passes(program, PLAIN)


@pytest.mark.parametrize(
    "text", ["a = leaf bf16 [[2, 1], [0, 3]]; b = inv a", "a = leaf f16 [[2, 1], [0, 3]]; b = det a"]
)
def test_an_op_without_a_kernel_is_missing(text):
    outcome = PLAIN.observe(parse(text, VOCABULARY))[1].outcome
    assert isinstance(outcome, Raised)
    assert outcome.kind is Kind.NO_KERNEL


@pytest.mark.parametrize(
    "text",
    [
        "a = leaf bf16 3.75; b = tanh a; backward b with bf16 1",
        "a = leaf f16 [4, 4, 4, 4, 4, 4, 4, 4, 4, 0]; b = prod a; backward b with f16 1",
    ],
)
def test_lost_digits_are_advice(text):
    violation = violation_of(parse(text, VOCABULARY), PLAIN)
    assert violation is not None
    assert (violation.rule, is_advisory(violation)) == ("gradients/digits", True)


@pytest.mark.parametrize(
    "text",
    [
        "a = leaf bf16 [[1], [3]]; b = leaf bf16 1; c = multiply a b; backward c with bf16 [[-3.015625], [1]]",
        "a = leaf bf16 3.75; b = tanh a; c = negative b; backward c with bf16 1",
        "a = leaf bf16 [1, 2, 3]; backward a with bf16 [inf, inf, nan]",
        "a = leaf f16 [1, 2]; backward a with f16 [0, 1]; step a adam fused=True",
        "a = leaf bf16 [1, 2]; backward a with bf16 [0, 1]; step a adam",
    ],
)
def test_what_few_digits_cannot_decide_passes(text):
    assert passes(parse(text, VOCABULARY), PLAIN)


@pytest.mark.parametrize("optimizer", ["adam", "adamw foreach=True", "rmsprop", "adagrad"])
@pytest.mark.parametrize("gradient", [0, 0.0001])
def test_a_step_that_divides_by_zero_is_advice(optimizer: str, gradient: float):
    text = f"a = leaf f16 [1, 2]; backward a with f16 [{gradient}, 1]; step a {optimizer}"
    violation = violation_of(parse(text, VOCABULARY), PLAIN)
    assert violation is not None
    assert (violation.rule, is_advisory(violation)) == ("optimizers/finite", True)


def test_a_product_of_few_numbers_is_not_infinite():
    program = parse("a = leaf f16 [4, 0]; b = prod a", VOCABULARY)

    def infinite(op: str, operands: Results, results: Results) -> Results:
        return [each + float("nan") for each in results]

    violation = violation_of(program, InProcess(Changed(infinite)))
    assert violation is not None
    assert violation.rule == "gradients/forward"
