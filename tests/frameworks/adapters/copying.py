"""Adapters of frameworks that copy a gradient that is assigned, and say so, or not."""

from __future__ import annotations

import torch

from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.programs.capabilities import Traits


class Unsaid(Torch):
    """It copies, and does not say so."""

    name = "copies, unsaid"

    def assign_grad(self, leaf: torch.Tensor, value: torch.Tensor | None) -> None:
        leaf.grad = None if value is None else value.detach().clone()


class Copying(Unsaid):
    """It copies."""

    name = "copies"
    traits = Traits(copies=True)
