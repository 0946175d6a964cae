"""Equal elements of one tensor: another result or gradient for one of them is reported, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
import torch

from autograd_conformance.checking.audit import elements
from autograd_conformance.checking.check import first_violation
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Attrs, Leaf
from autograd_conformance.rules.judge.judgement import waives_nothing
from autograd_conformance.strategies.building.alphabet import EVERYTHING

Forward = Callable[[torch.Tensor], torch.Tensor]


class Last(torch.autograd.Function):
    """The identity, whose gradient for the last element is changed where the operand is not a finite number."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, operand: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(operand)
        return operand.clone()

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, *cotangents: torch.Tensor) -> torch.Tensor:
        (operand,) = ctx.saved_tensors  # type: ignore[attr-defined]
        changed = cotangents[0].clone()
        if operand.numel() > 1 and not operand.flatten()[-1].isfinite():
            changed.view(-1)[-1] = 0
        return changed


class Changed(Torch):
    """PyTorch with a change of negative: of its operands, or of its results."""

    def __init__(self, before: Forward | None = None, after: Forward | None = None) -> None:
        super().__init__()
        self.before, self.after = before, after

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        if op == "negative" and self.before is not None:
            operands = [self.before(each) for each in operands]
        made = super().apply(op, operands, attrs)
        return [self.after(each) for each in made] if op == "negative" and self.after is not None else made


def rule(text: str, adapter: Torch) -> str | None:
    target, program = InProcess(adapter), parse(text)
    found = first_violation(program, target.observe(program), target, waives_nothing)
    return None if found is None else found.rule


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
@pytest.mark.parametrize(
    "call", ["backward b with [1, 1, 1]", "c = grad b wrt a with [1, 1, 1]", "backward b inputs a with [2, 2, 2]"]
)
def test_a_gradient_that_depends_on_the_place_is_told(number: str, call: str) -> None:
    text = f"a = leaf [{number}, {number}, {number}]; b = negative a; {call}"
    assert rule(text, Changed(before=Last.apply)) == "gradients/elements"
    assert rule(text, Torch()) is None


def test_a_result_that_depends_on_the_place_is_told() -> None:
    def hidden(result: torch.Tensor) -> torch.Tensor:
        return torch.cat([result[:-1], result[-1:].nan_to_num()])

    text = "a = leaf [nan, nan, 1]; b = negative a; backward b with [1, 1, 1]"
    assert rule(text, Changed(after=hidden)) is None  # the last element is another number
    assert rule("a = leaf [1, nan, nan]; b = negative a; backward b with [1, 1, 1]", Changed(after=hidden)) == (
        "gradients/elements"
    )


@pytest.mark.parametrize(
    "text",
    [
        "a = leaf [nan, nan]; b = negative a; backward b with [1, 2]",  # the cotangents differ
        "a = leaf [nan, inf]; b = negative a; backward b with [1, 1]",
        "a = leaf [nan, nan]; b = negative a; c = negative b; backward c with [1, 1]",  # two ops
        "a = leaf [nan, nan]; b = cumulative_sum a dim=0; backward b with [1, 1]",  # no elementwise op
        "a = leaf [nan, nan]; b = leaf [1, 2]; c = add a b; backward c with [1, 1]",
        "a = leaf nan; b = negative a; backward b with 1",
    ],
)
def test_other_programs_are_not_compared(text: str) -> None:
    assert rule(text, Changed(before=Last.apply)) in (None, "gradients/op")


def test_programs_have_one_number_in_each_operand() -> None:
    found = list(elements.programs("maximum", ("float64",), EVERYTHING))
    assert len(found) == 7  # NaN, infinity and 0 in either operand, and NaN in both
    for program in found:
        operands = [step.value for step in program if isinstance(step, Leaf)]
        assert [len({*map(repr, each.data)}) for each in operands] == [1, 1]
        assert len(operands[0].data) % 2 == 1


def test_ops_that_treat_elements_alike_are_tested() -> None:
    assert {"maximum", "relu", "addcmul", "sin", "pow"} <= {*elements.functions()}
    assert not {"where", "softmax", "sum", "matmul", "cumsum"} & {*elements.functions()}


@pytest.mark.parametrize(("dtype", "far"), [("float32", {1e4, -1e4, 1e10, -1e10}), ("float16", set())])
def test_the_numbers_of_an_op_are_far_out_as_far_as_the_dtype_has_their_cubes(dtype: str, far: set[float]):
    found = {each[0].value.data[0] for each in elements.programs("relu6", (dtype,), EVERYTHING)}  # type: ignore[union-attr]
    assert {number for number in found if 100 < abs(number) < math.inf} == far


@pytest.mark.parametrize(
    ("op", "kinks"), [("relu6", {0.0, 6.0}), ("hardsigmoid", {-3.0, 3.0}), ("softshrink", {-0.5, 0.5})]
)
def test_the_numbers_of_an_op_include_its_kinks(op: str, kinks: set[float]):
    found = {each[0].value.data[0] for each in elements.programs(op, ("float64",), EVERYTHING)}  # type: ignore[union-attr]
    assert found >= kinks
