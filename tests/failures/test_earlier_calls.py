"""An error that has nothing to do with earlier calls is reported without them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from autograd_conformance.failures.earlier_calls import without_earlier_calls
from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.programs.formats.text import render
from tests.failures.cases import failing


class Product(torch.autograd.Function):
    """A product whose derivative raises an error if both factors are one tensor."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, y = ctx.saved_tensors
        if x.data_ptr() == y.data_ptr():
            torch.zeros(2).reshape(7)
        return grads[0] * y, grads[0] * x


class RaisesForSquares(Torch):
    """No product of a tensor with the tensor has a derivative."""

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: dict[str, Any]) -> Sequence[torch.Tensor]:
        return (Product.apply(*operands),) if op == "multiply" else super().apply(op, operands, attrs)


class RaisesAgain(Torch):
    """Every call but the first raises an error."""

    def reset(self) -> None:
        super().reset()
        self.calls = 0

    def backward(self, *args: Any, **options: Any) -> None:
        self.calls += 1
        if self.calls > 1:
            torch.zeros(2).reshape(7)
        super().backward(*args, **options)


TEXT = "a = leaf [1, 2]; b = exp a; c = multiply b b; backward b with [1, 1] retain=True; backward c with [1, 1]"


@pytest.mark.parametrize(("framework", "calls"), [(RaisesForSquares(), 1), (RaisesAgain(), 2)])
def test_only_calls_that_matter_are_kept(framework: Torch, calls: int):
    case = failing(framework, TEXT)
    assert case.violation.rule == "lifetime/retained-works"
    found = without_earlier_calls(case)
    assert render(found.program).count("backward") == calls
    assert found.violation.rule == ("lifetime/retained-works" if calls == 2 else "errors/legal-returns")
