"""A failing program with large tensors is reduced to the elements that show the fault."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from autograd_conformance.checking.check import first_violation
from autograd_conformance.failures.case import Case
from autograd_conformance.failures.reduce import reduced
from autograd_conformance.failures.smaller_tensors import with_smaller_tensors
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.running.runner import run
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.programs.language import Attrs, Leaf, Program


class FaultySine(Torch):
    """The sine is wrong where a condition on the operand holds."""

    def __init__(self, is_wrong: Callable[[torch.Tensor], torch.Tensor], factor: float = 2.0) -> None:
        super().__init__()
        self.is_wrong, self.factor = is_wrong, factor

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        made = super().apply(op, operands, attrs)
        if op != "sin":
            return made
        return (torch.where(self.is_wrong(operands[0].detach()), made[0] * self.factor, made[0]),)


def sine(rows: int, columns: int) -> Program:
    """Returns a program of a sine of many numbers, 1/8, 2/8, and so on, of which 3 is one."""
    numbers = [[(columns * row + column + 1) / 8 for column in range(columns)] for row in range(rows)]
    ones = [[1] * columns for _ in range(rows)]
    return parse(f"a = leaf {numbers}; b = sin a; backward b with {ones}", VOCABULARY)


def smallest(program: Program, framework: Torch) -> list[Leaf]:
    """Returns the leaves of the reduced program."""
    target, observation = InProcess(framework), run(program, framework)
    violation = first_violation(program, observation, target)
    assert violation is not None
    small = reduced(Case(program, observation, violation, target))
    assert (small.violation.rule, small.violation.op) == (violation.rule, violation.op)
    return [step for step in small.program if isinstance(step, Leaf)]


@pytest.mark.parametrize("factor", [2.0, float("nan"), float("inf")])
@pytest.mark.parametrize("shape", [(5, 8), (1, 65)])
def test_one_number_is_left_if_one_is_wrong(shape: tuple[int, int], factor: float):
    (leaf,) = smallest(sine(*shape), FaultySine(lambda x: x == 3, factor))
    assert leaf.value.shape == (1, 1)
    assert leaf.value.data == (3.0,)


def test_what_is_rightly_no_number_is_not_the_worst():
    program, framework = sine(1, 12), FaultySine(lambda x: x > 0)
    violation = first_violation(program, run(program, framework), InProcess(framework))
    assert violation is not None
    want = np.array([[np.nan, np.inf, *[1.0] * 10]])
    got = np.where(np.arange(12) == 5, 2.0, want)
    first, *_ = with_smaller_tensors(program, replace(violation, got=got, want=want, bound=None))
    assert isinstance(first[0], Leaf)
    assert first[0].value.data == (6 / 8,)


def test_as_many_numbers_are_left_as_the_fault_needs():
    (leaf,) = smallest(sine(1, 64), FaultySine(lambda x: (x > 7) & torch.tensor(x.numel() >= 16)))
    assert leaf.value.shape == (1, 16)


def test_tensors_that_a_reader_takes_in_stay():
    program = sine(2, 3)
    target, framework = InProcess(FaultySine(lambda x: x > 0)), FaultySine(lambda x: x > 0)
    violation = first_violation(program, run(program, framework), target)
    assert violation is not None
    assert not list(with_smaller_tensors(program, violation))


def test_operands_of_other_shapes_keep_them():
    numbers = [[column + 1.0 for column in range(9)]]
    program = parse(
        f"a = leaf {numbers}; b = leaf [[2]]; c = multiply a b; d = sin c; backward d with {numbers}", VOCABULARY
    )
    one, other = smallest(program, FaultySine(lambda x: x == 6))
    assert one.value.shape == other.value.shape == (1, 1)
