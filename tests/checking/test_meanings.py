"""Faults are named in the words of the suite only where the error and the operands agree."""

from __future__ import annotations

import numpy as np
import pytest

from autograd_conformance.checking.meanings import (
    BROADCAST,
    EMPTY,
    INDEX,
    NUMBER,
    REDUCED,
    SINGLE,
    UNBATCHED,
    UNCHANGED,
    ending_meaning,
    error_meaning,
    number_meaning,
    write_meaning,
)
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.ops.forms import base_form, unbatched_rank
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Apply, Leaf, Literal, Program, Ref
from autograd_conformance.reporting.records.failure import ErrorSize


def pooled(rank: int, op: str = "max_pool2d") -> Program:
    shape = (1,) * (rank - 2) + (2, 2)
    attrs = (("kernel_size", 2), ("stride", 1), ("padding", 0))
    return Program((Leaf(Literal((1.0,) * 4, shape)), Apply(op, (Ref(0),), attrs)))


EMPTY_SINE = Program((Leaf(Literal((), (0, 3))), Apply("sin", (Ref(0),))))
SINE = parse("a = leaf [1, 2]; b = sin a", VOCABULARY)


@pytest.mark.parametrize(
    ("rank", "message", "meaning"),
    [
        (3, "not enough values to unpack (expected 4, got 3)", UNBATCHED),
        (3, "Expected 4D input, got 3D", UNBATCHED),
        (3, "tuple index out of range", UNBATCHED),
        (4, "Expected 4D input, got 3D", None),
        (3, "out of memory", None),
    ],
)
def test_an_operand_without_a_batch(rank: int, message: str, meaning: str | None) -> None:
    assert error_meaning(pooled(rank), 1, "max_pool2d", message) == meaning


@pytest.mark.parametrize(
    ("got", "meaning"), [([0.5, -1.0], UNCHANGED), ([0.5, -0.5], None), ([-0.5, 1.0], None), ([], None)]
)
def test_a_write_that_changes_nothing(got: list[float], meaning: str | None) -> None:
    program = parse("a = leaf f32 [0.5, -1] const; b = clone a; write b relu_; write b relu_", VOCABULARY)
    assert write_meaning(program, 2, np.array(got, np.float32)) == meaning
    assert write_meaning(program, 2, None) is None
    assert write_meaning(program, 1, np.array([0.5, -1.0])) is None
    assert write_meaning(program, 3, np.array([0.5, 0.0])) is None


def test_an_operand_without_elements() -> None:
    said = "cannot call `vectorize` on size 0 inputs"
    assert error_meaning(EMPTY_SINE, 1, "sin", said) == EMPTY
    assert error_meaning(SINE, 1, "sin", said) is None
    assert error_meaning(EMPTY_SINE, 1, "sin", "list index out of range") is None
    assert (ending_meaning(EMPTY_SINE, "sin"), ending_meaning(SINE, "sin")) == (EMPTY, None)
    assert ending_meaning(EMPTY_SINE, None) is None


@pytest.mark.parametrize(
    ("message", "meaning"),
    [
        ("'float' object has no attribute 'device'", NUMBER),
        ("'Tensor' object has no attribute 'device'", None),
        ("index must be integer dtype", INDEX),
        ("tensors used as indices must be integer or boolean", INDEX),
        ("dim must be an integer", None),
        ("tuple indices must be integers or slices, not tuple", None),
    ],
)
def test_what_a_message_says_by_itself(message: str, meaning: str | None) -> None:
    assert error_meaning(SINE, 1, "sin", message) == meaning


@pytest.mark.parametrize(
    ("digits", "units", "of", "meaning"),
    [
        (7.5, 4e5, 16, SINGLE),
        (8.6, 5e6, 16, SINGLE),
        (10.0, 400.0, 16, None),
        (1.0, 1e12, 16, None),
        (7.0, 1e12, 16, None),
        (7.0, 2.0, 7, None),
    ],
)
def test_numbers_that_are_as_exact_as_in_float32(digits: float, units: float, of: int, meaning: str | None) -> None:
    assert number_meaning(ErrorSize(1.0, 1.0 / units, units, digits, of)) == meaning


def test_forms_of_one_function() -> None:
    forms = ("batch_norm", "batch_norm_affine", "batch_norm_running", "batch_norm_running_affine")
    assert {base_form(op) for op in forms} == {"batch_norm"}
    assert (base_form("conv2d_bias"), base_form("gelu_tanh"), base_form("vector_norm_inf")) == (
        "conv2d",
        "gelu_tanh",
        "vector_norm_inf",
    )
    assert (unbatched_rank("max_pool2d"), unbatched_rank("nll_loss"), unbatched_rank("softmax")) == (3, 1, None)
    assert (unbatched_rank("pixel_shuffle"), unbatched_rank("multi_margin_loss")) == (3, 1)


@pytest.mark.parametrize(
    ("reduction", "message", "meaning"),
    [
        ("sum a dim=(1,) keepdim=False", "operands could not be broadcast together", REDUCED),
        ("mean a dim=(0,) keepdim=False", "The size of tensor a (2) must match", REDUCED),
        ("prod_dim a dim=1 keepdim=False", "shapes (3,) and (3,2) not aligned", REDUCED),
        ("sum a dim=(1,) keepdim=False", "list index out of range", None),
        ("sum a dim=(1,) keepdim=True", "operands could not be broadcast together", None),
        ("sum a dim=(0, 1) keepdim=False", "operands could not be broadcast together", None),
        ("sin a", "operands could not be broadcast together", None),
    ],
)
def test_a_reduced_dimension_that_is_not_restored(reduction: str, message: str, meaning: str | None) -> None:
    program = parse(f"a = leaf [[1, 2], [3, 4], [5, 6]]; b = {reduction}; backward b", VOCABULARY)
    op = reduction.split()[0]
    assert error_meaning(program, 2, op, message) == meaning
    assert error_meaning(program, 1, op, message) is None


def test_a_call_that_takes_no_number_is_named() -> None:
    program = parse("a = leaf [1, 2]; b = subtract_scalar a scalar=3; c = square b", VOCABULARY)
    said = "__sub__(): incompatible function arguments."
    assert error_meaning(program, 1, "subtract_scalar", said) == NUMBER
    assert error_meaning(program, 2, "square", said) is None


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("a = leaf [1, 2, 3]; b = leaf 2; c = multiply a b; backward c with [1, 1, 1]", BROADCAST),
        ("a = leaf [1, 2]; b = sum a dim=(0,) keepdim=False; c = multiply b a; backward c with [1, 1]", BROADCAST),
        ("a = leaf [1, 2]; b = leaf [3, 4]; c = multiply a b; backward c with [1, 1]", None),
        ("a = leaf [[1, 2], [3, 4]]; b = leaf [3, 4]; c = matmul a b; backward c with [1, 1]", None),
        ("a = leaf [[1], [2]]; b = reshape a shape=(2,); c = leaf 1; d = add b c; backward d with [1, 1]", None),
    ],
)
def test_a_gradient_that_cannot_be_summed_to_its_operand(text: str, meaning: str | None) -> None:
    program = parse(text, VOCABULARY)
    assert error_meaning(program, len(program) - 1, None, "cannot reshape array of size 3 into shape (1,)") == meaning
    assert error_meaning(program, len(program) - 1, None, "list index out of range") is None
