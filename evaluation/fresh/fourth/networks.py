"""Faults of random layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograd_conformance.programs.language import Attrs
from evaluation.fresh.fault import Fault
from evaluation.fresh.tools import after, vjp


class DropoutRedraws(Fault):
    """The derivative of dropout draws its mask again, from the generator's state after the forward pass."""

    rule = "networks/random"

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        made = super().apply(op, operands, attrs)
        if op == "dropout" and 0 < (p := dict(attrs)["p"]) < 1:
            state = torch.get_rng_state()

            def redrawn(gradients: list, cotangents: Sequence) -> list:
                generator = torch.Generator()
                generator.set_state(state)
                mask = torch.empty_like(cotangents[0], requires_grad=False).bernoulli_(1 - p, generator=generator)
                return [cotangents[0] * (mask / (1 - p)), *gradients[1:]]

            after(made[0], redrawn)
        return made


def witness_DropoutRedraws(a: Any) -> Any:
    return vjp(a, "dropout", [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]], seed=1, p=0.5)
