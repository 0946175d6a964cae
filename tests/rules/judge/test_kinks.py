"""Kinks and ties: a mode with another convention than its framework, or a dtype with another one, is reported, and
nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
import torch

from autograd_conformance.checking.audit import kinks
from autograd_conformance.checking.check import first_violation
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.pytorch.modes.checkpoints import TorchCheckpoint
from autograd_conformance.frameworks.pytorch.modes.forward import TorchJvp
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Apply, Attrs, Leaf
from autograd_conformance.reference.domains import is_smooth
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.judge.checks.kinks import ANY_OF_EQUALS
from autograd_conformance.strategies.building.alphabet import EVERYTHING


class Relu(torch.autograd.Function):
    """The rectified linear function, with the slope 1 at 0."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, operand: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(operand)
        return operand.clamp(min=0)

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, *cotangents: torch.Tensor) -> torch.Tensor:
        (operand,) = ctx.saved_tensors  # type: ignore[attr-defined]
        return cotangents[0] * (operand >= 0)


class Mode(Torch):
    """A mode of PyTorch that has another convention for `relu` at 0: in one dtype, or in all."""

    def __init__(self, dtypes: Sequence[torch.dtype]) -> None:
        super().__init__()
        self.changed = dtypes

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        return {"without the mode": Torch}

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        if op == "relu" and operands[0].dtype in self.changed:
            return [Relu.apply(operands[0])]
        return super().apply(op, operands, attrs)


def found(text: str, adapter: Any) -> tuple[str, str] | None:
    target, program = InProcess(adapter), parse(text)
    violation = first_violation(program, target.observe(program), target)
    return None if violation is None else (violation.rule, violation.allowed[0].expected.expected_text())


AT_ZERO = "a = leaf {0} [0, 1]; b = relu a; backward b with {0} [2, 3]"


def test_a_mode_keeps_the_convention_of_its_framework():
    assert found(AT_ZERO.format("f64"), Mode((torch.float64, torch.float32))) == (
        "gradients/kinks", "the element is 0, as without the mode"
    )  # fmt: skip
    assert found(AT_ZERO.format("f64"), Mode(())) is None
    assert found(AT_ZERO.format("f64"), Torch()) is None


def test_a_dtype_keeps_the_convention_of_another():
    class Framework(Mode):
        def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
            return {}

    assert found(AT_ZERO.format("f32"), Framework((torch.float32,))) == (
        "gradients/kinks", "the element is 0, as in float64"
    )  # fmt: skip
    assert found(AT_ZERO.format("f64"), Framework((torch.float32,))) is None
    assert found(AT_ZERO.format("f32"), Framework((torch.float32, torch.float64))) is None


def test_only_numbers_at_which_an_op_is_not_smooth_are_compared():
    text = "a = leaf f64 [1, 2]; b = relu a; backward b with f64 [2, 3]"
    assert found(text, Mode((torch.float64,))) is None


def test_far_out_where_an_op_has_rounding_errors_alone_is_no_kink():
    """PyTorch's derivative in float32 is 6 times that in float64 there; the result of a checkpoint is not shown."""
    text = "a = leaf f32 [-10000]; b = log_ndtr a; backward b with f32 [1]"
    assert found(text, TorchCheckpoint()) is None


@pytest.mark.parametrize(
    "text",
    [
        "a = leaf [0, 1]; b = reciprocal a; c = grad b wrt a with [1, 2]",  # infinite in the other run
        "a = leaf [1, 1, 1]; b = sort a dim=0; c = grad b wrt a with [1, 2, 3]",  # any order of equals is right
        "a = leaf [[1, 1], [1, 1]]; b = inv a; c = grad b wrt a with [[1, 2], [3, 4]]",
    ],
)
def test_what_is_no_convention_is_not_compared(text: str):
    assert found(text, TorchJvp()) is None


def test_forward_mode_has_conventions_that_reverse_mode_lacks():
    text = "a = leaf [1]; b = leaf [1]; c = fmax a b; d, e = grad c wrt a, b with [2]"
    assert found(text, TorchJvp()) == ("gradients/kinks", "the element is 2, as with torch.func.vjp")


def test_programs_are_at_kinks():
    at_kinks = 0
    for op in kinks.functions():
        assert op not in ANY_OF_EQUALS
        for program in kinks.programs(op, ("float32",), EVERYTHING):
            (step,) = (step for step in program if isinstance(step, Apply))
            values = Reference(program).values
            at_kinks += not is_smooth(step, values)
            assert all(len({*leaf.value.data}) <= 1 for leaf in program if isinstance(leaf, Leaf))
    assert at_kinks > len(kinks.functions())
