"""Mutants whose fault occurs only under a default dtype other than float32."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from autograd_conformance.programs.language import Attrs
from evaluation.mutants.mutant import Mutant, Roots, gated


def is_another() -> bool:
    """Whether the default dtype is not float32, PyTorch's usual one."""
    return torch.get_default_dtype() != torch.float32


class TwiceUnderAnotherDefault(Mutant):
    """Under a default dtype other than float32, the gradients of a product are doubled."""

    killed_by = ("gradients/op", "gradients/graph", "gradients/cotangent", "gradients/equal-leaves")

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        if op == "multiply" and is_another():
            operands = [gated(operand, lambda gradient: 2 * gradient) for operand in operands]
        return super().apply(op, operands, attrs)


class RefusesUnderAnotherDefault(Mutant):
    """Under a default dtype other than float32, the derivative of tanh refuses tensors of any other dtype."""

    killed_by = ("errors/legal-returns", "gradients/op")

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        def checked(gradient: torch.Tensor) -> torch.Tensor:
            if is_another() and gradient.dtype != torch.get_default_dtype():
                raise RuntimeError("expected scalar type Double but found Float")
            return gradient

        return super().apply(op, [gated(operand, checked) for operand in operands] if op == "tanh" else operands, attrs)


class ResultInAnotherDefault(Mutant):
    """Under a default dtype other than float32, mean returns that dtype instead of its operand's."""

    killed_by = ("gradients/forward", "gradients/op")

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        made = super().apply(op, operands, attrs)
        return [value.to(torch.get_default_dtype()) for value in made] if op == "mean" and is_another() else made


class WritesLostUnderAnotherDefault(Mutant):
    """Under a default dtype other than float32, writes to float32 tensors are lost."""

    killed_by = ("writes/value",)

    def write(self, op: str, target: torch.Tensor, operands: Roots, attrs: Attrs) -> None:
        if not is_another() or target.dtype != torch.float32:
            super().write(op, target, operands, attrs)
