"""PyTorch whose optimizers are stepped by a scaler of gradients, as in training with few digits:
https://docs.pytorch.org/docs/stable/amp.html#gradient-scaling.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from autograd_conformance.frameworks.pytorch.eager import TorchEager
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Attrs, Groups

SCALED = """
def scaled_step(optimizer):
    leaves = [leaf for group in optimizer.param_groups for leaf in group["params"] if leaf.grad is not None]
    gradients = [leaf.grad.clone() for leaf in leaves]
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    scaler.scale(torch.zeros(()))
    for leaf in leaves:
        leaf.grad.fill_(float("inf"))
    if leaves:
        scaler.step(optimizer)
        scaler.update()
    for leaf, gradient in zip(leaves, gradients):
        leaf.grad.copy_(gradient * scaler.get_scale())
    if leaves:
        scaler.step(optimizer)
        scaler.update()
"""
"""The code of a step. A first step with infinite gradients has to be skipped, and halves the scale. Then the gradients
are those of a loss that was multiplied by the scale, which the scaler divides by it. Without a gradient, the scaler
refuses to step, and so nothing is stepped.
"""


class TorchScaled(TorchEager):
    """PyTorch that takes each step of an optimizer by a `GradScaler`, after a step that it has to skip.

    A scaler writes to gradients in place. So no program differentiates a gradient that a leaf holds, or uses it as a
    value. It refuses gradients in float16.
    """

    name = "torch-scaled"
    capabilities = TorchEager.capabilities - {Capability.CREATES_IN_LEAVES, Capability.ASSIGNS}
    dtypes: tuple[str, ...] = ("float64", "float32", "bfloat16")

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        names: dict[str, Any] = {"torch": torch}
        exec(SCALED, names)
        self.scaled_step: Callable[[torch.optim.Optimizer], None] = names["scaled_step"]
        self.dialect = replace(
            self.dialect,
            prelude=f"{self.dialect.prelude}\n{SCALED}",
            step=f"scaled_step({self.dialect.optimizer})",
            step_again="scaled_step({name})",
        )

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns PyTorch whose optimizers step without a scaler."""
        return {"without the scaler": partial(TorchEager, self.requested_device)}

    def step(self, leaves: Sequence[torch.Tensor], optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        """Takes a step that is skipped, and one that is not, by a `GradScaler`."""
        self.scaled_step(self.optimizer(leaves, optimizer, settings, groups))
