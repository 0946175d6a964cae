"""PyTorch whose regions are exported: https://docs.pytorch.org/docs/stable/export.html."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from autograd_conformance.frameworks.pytorch.modes.flags import is_random
from autograd_conformance.frameworks.pytorch.modes.layers import Function, Layer
from autograd_conformance.frameworks.pytorch.modes.regions import TorchRegions
from autograd_conformance.programs.language import Program

EXPORTED = """
modules = {}


def exported(function, *inputs):
    class Region(torch.nn.Module):
        def forward(self, *inputs):
            return function(*inputs)

    key = function, *((each.shape, each.dtype, each.stride(), each.requires_grad) for each in inputs)
    if key not in modules:
        modules[key] = torch.export.export(Region(), inputs, strict=False).module()
    return modules[key](*inputs)
"""
"""The code that exports a function, once for operands of the same form, and runs the exported module."""

NAMES: dict[str, Any] = {"torch": torch}
exec(EXPORTED, NAMES)


@dataclass(frozen=True)
class Export(Layer):
    """Exports each region (instructions that run as one function), and runs the module that was exported. Its
    derivatives are those of eager PyTorch.
    """

    label = "export"
    words = "torch.export"
    programs_each = 16
    prelude = EXPORTED.strip()
    call = "exported({arguments})"

    def start(self) -> None:
        """Silence the exporter: exceptions report failures."""
        torch._logging.set_logs(all=logging.CRITICAL)

    def holds(self, program: Program, at: int, run: Sequence[int]) -> bool:
        """Whether an instruction draws no random numbers: a module has no seed, and draws others at each call."""
        return not is_random(program[at])

    def called(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
        """Calls the module that `torch.export.export` makes of the function."""
        return NAMES["exported"](function, *inputs)  # type: ignore[no-any-return]


class TorchExport(TorchRegions):
    """PyTorch that exports each region (a sequence of instructions), and runs what it has exported."""

    layers = (Export(),)
