"""PyTorch whose optimizers are resumed from what was saved of them:
https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.load_state_dict.html.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from autograd_conformance.frameworks.pytorch.eager import TorchEager
from autograd_conformance.programs.language import Attrs, Groups

RESUMED = """
import io


def resumed(optimizer):
    file = io.BytesIO()
    torch.save(optimizer.state_dict(), file)
    file.seek(0)
    fresh = type(optimizer)([{"params": group["params"]} for group in optimizer.param_groups], lr=0.5)
    fresh.load_state_dict(torch.load(file))
    return fresh
"""
"""The code that resumes an optimizer: a new optimizer, made with another learning rate, loads the state and the
settings of the old one from a file.
"""


class TorchResumed(TorchEager):
    """PyTorch that saves each optimizer before each step, and takes the step with a new optimizer that loads it."""

    name = "torch-resumed"

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        names: dict[str, Any] = {"torch": torch}
        exec(RESUMED, names)
        self.resumed: Callable[[torch.optim.Optimizer], torch.optim.Optimizer] = names["resumed"]
        self.dialect = replace(
            self.dialect,
            prelude=f"{self.dialect.prelude}\n{RESUMED}",
            step=f"resumed({self.dialect.optimizer}).step()",
            step_again="{name} = resumed({name})\n{name}.step()",
        )

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns PyTorch that keeps its optimizers."""
        return {"without saving the optimizer": partial(TorchEager, self.requested_device)}

    def step(self, leaves: Sequence[torch.Tensor], optimizer: str, settings: Attrs, groups: Groups = ()) -> None:
        """Calls `Optimizer.step` of a new optimizer that has loaded the saved one."""
        saved = self.optimizer(leaves, optimizer, settings, groups)
        fresh = self.resumed(saved)
        self.made_optimizers.update({key: fresh for key, made in self.made_optimizers.items() if made is saved})
        fresh.step()
