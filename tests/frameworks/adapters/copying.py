"""Adapters of frameworks that copy a gradient on assignment; one declares the trait and the other does not."""

from __future__ import annotations

import torch

from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.programs.capabilities import Traits


class Unsaid(Torch):
    """It copies, and does not declare the trait."""

    name = "copies, unsaid"

    def assign_grad(self, leaf: torch.Tensor, value: torch.Tensor | None) -> None:
        leaf.grad = None if value is None else value.detach().clone()


class Copying(Unsaid):
    """It copies, and declares the trait."""

    name = "copies"
    traits = Traits(copies=True)
