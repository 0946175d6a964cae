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
def exported(function):
    class Region(torch.nn.Module):
        def forward(self, *inputs):
            return function(*inputs)

    modules = {}

    def run(*inputs):
        key = tuple((each.shape, each.dtype, each.stride(), each.requires_grad) for each in inputs)
        if key not in modules:
            modules[key] = torch.export.export(Region(), inputs, strict=False).module()
        return modules[key](*inputs)

    return run
"""
"""The code that makes of a function another one, which exports it once for operands of the same form, and runs the
exported module.
"""

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
    head = "@exported"
    call = "exported({function})({inputs})"

    def start(self) -> None:
        """Silence the exporter: exceptions report failures."""
        torch._logging.set_logs(all=logging.CRITICAL)

    def holds(self, program: Program, at: int, run: Sequence[int]) -> bool:
        """Whether an instruction draws no random numbers: a module has no seed, and draws others at each call."""
        return not is_random(program[at])

    def made(self, function: Function) -> Function:
        """Returns a function that runs what `torch.export.export` makes of the given one."""
        return NAMES["exported"](function)  # type: ignore[no-any-return]


class TorchExport(TorchRegions):
    """PyTorch that exports each region (a sequence of instructions), and runs what it has exported."""

    layers = (Export(),)
