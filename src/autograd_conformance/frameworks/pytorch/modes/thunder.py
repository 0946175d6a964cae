"""PyTorch's mode with Lightning Thunder, a compiler of PyTorch programs that has its own derivatives."""

from __future__ import annotations

import importlib
import warnings
from dataclasses import dataclass

from autograd_conformance.frameworks.pytorch.modes.layers import Function, Layer
from autograd_conformance.frameworks.pytorch.modes.regions import TorchRegions
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.observations import Kind

DOCUMENTATION = "https://lightning-thunder.readthedocs.io/en/latest/fundamentals/thunder_step_by_step.html"

REFUSED = frozenset(
    {
        "aminmax", "flip", "gaussian_nll_loss", "index_add", "lerp", "lerp_scalar", "masked_select", "minimum",
        "pad_border", "repeat_uneven", "round", "soft_margin_loss", "unfold",
    }
)  # fmt: skip
"""The ops that Thunder 0.2.6 refuses to compile or to differentiate, and says so."""


@dataclass(frozen=True)
class Thunder(Layer):
    """Compiles each region with `thunder.jit`; equal regions are compiled once."""

    label = "thunder"
    words = "thunder.jit"
    programs_each = 16
    excludes = (Capability.CREATE_GRAPH, Capability.CREATES_IN_LEAVES, Capability.AUTOCAST)
    traits = {"one_node": DOCUMENTATION}
    prelude = "import thunder"
    head = "@thunder.jit"
    call = "thunder.jit({function})({inputs})"

    def start(self) -> None:
        """Import the compiler, so that an adapter without it is not made."""
        importlib.import_module("thunder")

    def made(self, function: Function) -> Function:
        """Compile the function with `thunder.jit`."""
        with warnings.catch_warnings(action="ignore"):
            return importlib.import_module("thunder").jit(function)  # type: ignore[no-any-return]


class TorchThunder(TorchRegions):
    """PyTorch whose regions are compiled by Lightning Thunder."""

    layers = (Thunder(),)
    ops = TorchRegions.ops - REFUSED
    packages = ("torch", "thunder")

    def classify(self, error: BaseException) -> Kind:
        """Classify an error as PyTorch's, or as the compiler's refusal of an op that it does not know."""
        missing = isinstance(error, NotImplementedError) or "Failed to find a gradient transform" in str(error)
        return Kind.NO_KERNEL if missing else super().classify(error)
