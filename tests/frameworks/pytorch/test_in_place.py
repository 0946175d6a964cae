"""Forward mode through in-place ops: each op is computed by its form in place, or as usual."""

from __future__ import annotations

import pytest
import torch

from autograd_conformance.checking.check import first_violation, violation_of
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.pytorch.modes.in_place import TEMPLATES, TorchJvpInPlace, in_place
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.programs.observations import Returned
from tests.frameworks.test_functional import CLOSED, FIRST, SEVERAL, UNUSED, program_of


def test_it_is_an_adapter():
    smoke(TorchJvpInPlace())
    assert {"exp", "multiply", "add", "addmm", "scatter_add"} <= {*TEMPLATES}


@pytest.mark.parametrize("text", [CLOSED, UNUSED, "a = leaf [2, 3]; b = leaf [1, 4]; c = multiply a b; d = exp c"])
def test_programs_are_right_and_printed_code_does_the_same(text: str):
    program, target = program_of(text), InProcess(TorchJvpInPlace())
    assert violation_of(program, target) is None
    printed = target.observe_printed(program)
    assert first_violation(program, printed, target) is None
    assert all(isinstance(seen.outcome, Returned) for seen in printed)


@pytest.mark.parametrize("text", [FIRST, SEVERAL.replace("multiply a b", "multiply a a")])
def test_a_value_that_is_taken_twice_is_the_target_twice(text: str):
    violation = violation_of(program_of(text), InProcess(TorchJvpInPlace()))
    assert violation is not None and violation.op in (None, "multiply")


def test_an_op_is_computed_in_place_where_the_result_has_the_shape_and_dtype_of_its_operand():
    written = []

    def write(y, x):
        written.append(y)
        y.mul_(x)

    row, column = torch.tensor([1.0, 2.0]), torch.tensor([[3.0], [4.0]])
    assert in_place(write, torch.mul, row, torch.tensor(2.0)).tolist() == [2.0, 4.0] and len(written) == 1
    assert in_place(write, torch.mul, row, column).tolist() == [[3.0, 6.0], [4.0, 8.0]] and len(written) == 1
    assert in_place(write, torch.mul, row, row.double()).dtype == torch.float64 and len(written) == 1
    assert row.tolist() == [1.0, 2.0]
