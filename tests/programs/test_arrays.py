"""Arrays of another package: what counts as numbers of which dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autograd_conformance.checking.check import first_violation
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.programs.foreign.arrays import InvalidArray, InvalidDtype, numbers
from autograd_conformance.programs.formats.text import parse


def test_objects_that_are_numbers_are_read_as_such() -> None:
    read = numbers(np.array([1.5, np.float64(2)], object), "object")
    assert (read.dtype, read.tolist()) == (np.dtype(np.float64), [1.5, 2.0])


@pytest.mark.parametrize("elements", [["a"], [None], [[1]]])
def test_other_objects_are_no_numbers(elements: list[object]) -> None:
    array = np.empty(1, object)
    array[:] = elements
    with pytest.raises(InvalidArray, match="an array of numbers"):
        numbers(array, "object")


@pytest.mark.parametrize("name", ["str", "datetime64", "void"])
def test_a_dtype_that_holds_no_numbers_is_refused(name: str) -> None:
    with pytest.raises((InvalidDtype, InvalidArray)):
        numbers(np.zeros(1), name)


class OfObjects(Torch):
    """PyTorch, whose gradients are arrays of Python numbers."""

    def gradient(self, leaf: Any) -> Any:
        held = super().gradient(leaf)
        return None if held is None else np.array(held.tolist(), object)

    def read(self, value: Any) -> np.ndarray:
        return value.copy() if isinstance(value, np.ndarray) else super().read(value)

    def dtype(self, value: Any) -> str:
        return value.dtype.name if isinstance(value, np.ndarray) else super().dtype(value)

    def identity(self, gradient: Any) -> int:
        return id(gradient)

    def memory(self, value: Any) -> int:
        return id(value) if isinstance(value, np.ndarray) else super().memory(value)

    def strides(self, value: Any) -> tuple[int, ...]:
        return (1,) if isinstance(value, np.ndarray) else super().strides(value)

    def requires_grad(self, value: Any) -> bool:
        return False if isinstance(value, np.ndarray) else super().requires_grad(value)


def test_gradients_of_objects_are_the_frameworks_fault() -> None:
    target, program = InProcess(OfObjects()), parse("a = leaf [1, 2]; b = exp a; backward b with [1, 1]")
    found = first_violation(program, target.observe(program), target)
    assert found is not None and (found.rule, found.observed_text()) == (
        "gradients/form", "a gradient of dtype object",
    )  # fmt: skip
