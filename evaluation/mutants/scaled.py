"""Mutants whose fault is in a step that a scaler of gradients takes."""

from __future__ import annotations

import torch

from autograd_conformance.frameworks.pytorch.modes.scaled import TorchScaled
from evaluation.mutants.mutant import UNSOUND, Faulty


class Scaling(Faulty, TorchScaled):
    """PyTorch whose steps are taken by a scaler. Subclasses change the step."""

    framework = "torch-scaled"
    ops = TorchScaled.ops - UNSOUND
    writes = frozenset(TorchScaled.writes) - {f"{op}_" for op in UNSOUND}

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        self.as_documented = self.scaled_step
        self.scaled_step = self.scaled

    def scaled(self, optimizer: torch.optim.Optimizer) -> None:
        """Take a step by a scaler; here as PyTorch does."""
        self.as_documented(optimizer)


def gradients(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    """The gradients of the leaves of an optimizer."""
    leaves = (leaf for group in optimizer.param_groups for leaf in group["params"])
    return [leaf.grad for leaf in leaves if leaf.grad is not None]


class HonestScaling(Scaling):
    """Has no fault: every failure is a false alarm."""


class UnscalesTwice(Scaling):
    """The scaler divides the gradients by the scale a second time."""

    killed_by = ("optimizers/formula",)

    def scaled(self, optimizer: torch.optim.Optimizer) -> None:
        held = [(each, each.clone()) for each in gradients(optimizer)]
        for gradient, _ in held:
            gradient.div_(512.0)
        self.as_documented(optimizer)
        for gradient, before in held:
            gradient.copy_(before)


class LeavesScale(Scaling):
    """After a step, the gradients are still multiplied by the scale."""

    killed_by = ("optimizers/keeps-gradients",)

    def scaled(self, optimizer: torch.optim.Optimizer) -> None:
        self.as_documented(optimizer)
        for gradient in gradients(optimizer):
            gradient.mul_(512.0)


class CountsSkippedSteps(Scaling):
    """A step that is skipped counts for the bias correction of Adam."""

    killed_by = ("optimizers/remembers", "optimizers/formula")

    def scaled(self, optimizer: torch.optim.Optimizer) -> None:
        self.as_documented(optimizer)
        for state in optimizer.state.values():
            if "step" in state:
                state["step"] += 1
