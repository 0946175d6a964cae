"""PyTorch whose regions run without in-place writes:
https://docs.pytorch.org/docs/stable/generated/torch.func.functionalize.html.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from autograd_conformance.frameworks.pytorch.modes.layers import Function, Layer
from autograd_conformance.frameworks.pytorch.modes.regions import TorchRegions
from autograd_conformance.frameworks.pytorch.modes.sharing import is_repeatable
from autograd_conformance.programs.language import Program

REFUSED = frozenset(
    {
        "add_index_", "copy_", "fill_diagonal_", "mul_index_", "polygamma_", "relu6_", "selu_", "set_columns_",
        "set_diagonal_", "set_index_", "set_slice_", "set_steps_", "square_",
    }
)  # fmt: skip
"""The writes that PyTorch 2.13 refuses to functionalize, or to differentiate functionalized, and says so."""


@dataclass(frozen=True)
class Functionalize(Layer):
    """Runs each region (instructions that run as one function) with new values in place of in-place writes."""

    label = "functionalize"
    words = "torch.func.functionalize"
    head = "@torch.func.functionalize"
    call = "torch.func.functionalize({function})({inputs})"

    def holds(self, program: Program, at: int, run: Sequence[int]) -> bool:
        """Whether the documentation speaks of an instruction: it removes writes to values from inside of the region.
        Writes to others are copied to them at the end, outside of the region's grad modes.
        """
        return is_repeatable(program, at, run)

    def made(self, function: Function) -> Function:
        """Returns a function that does what the given one does, without in-place writes."""
        return torch.func.functionalize(function)  # type: ignore[no-any-return]


class TorchFunctionalize(TorchRegions):
    """PyTorch that runs each region (a sequence of instructions) by `torch.func.functionalize`."""

    layers = (Functionalize(),)
    writes = frozenset(TorchRegions.writes) - REFUSED
