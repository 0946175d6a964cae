"""PyTorch whose regions run without in-place writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from torch.utils._python_dispatch import TorchDispatchMode

from autograd_conformance.checking.check import first_violation, violation_of
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.pytorch.modes.functionalized import TorchFunctionalize
from autograd_conformance.frameworks.target import InProcess
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs.formats.text import parse

A = "a = leaf [1, 2]"
TARGET = InProcess(TorchFunctionalize())

RIGHT = {
    f"{A}; b = square a; write b exp_; c = sin b; backward c with [1, 2]": [(1, 2, 3)],
    f"{A}; b = square a; c = narrow b dim=0 start=0 length=1; write c exp_; d = sin b; backward d with [1, 2]": [
        (1, 2, 3, 4)
    ],
    f"{A}; b = sigmoid a; write b exp_; backward b with [1, 1]": [(1, 2)],
    f"{A}; no_grad: write a exp_; c = sin a; backward c with [1, 2]": [(2,)],
    f"{A} const; b = leaf [3, 4]; write a mul_ b; c = sin a; backward c with [1, 2]": [(3,)],
}
"""Programs with their regions. A write to a value from outside of a region is outside of it, too."""


def test_it_is_an_adapter():
    smoke(TARGET.adapter)


@pytest.mark.parametrize("text", RIGHT)
def test_it_is_right_as_called_and_as_printed(text: str):
    program = parse(text, VOCABULARY)
    assert [each.region for each in TARGET.observe(program) if each.region] == RIGHT[text]
    assert violation_of(program, TARGET) is None
    assert first_violation(program, TARGET.observe_printed(program), TARGET) is None


def test_writes_inside_of_a_region_are_no_writes_in_place():
    ran: list[str] = []

    class Records(TorchDispatchMode):
        def __torch_dispatch__(self, op: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
            ran.append(op.name())
            return op(*args, **(kwargs or {}))

    with Records():
        TARGET.observe(parse(f"{A}; b = square a; write b exp_; c = sin b", VOCABULARY))
    assert "aten::exp" in ran and "aten::exp_" not in ran
