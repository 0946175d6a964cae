"""PyTorch on a device of PyTorch/XLA: each instruction is recorded, and compiled where a value is read."""

from __future__ import annotations

import os

import torch

from autograd_conformance.frameworks.pytorch.eager import TorchEager
from autograd_conformance.programs.capabilities import Capability

DEVICE = "PJRT_DEVICE"
"""The environment variable that names XLA's device; without it, this adapter uses the CPU."""


class TorchXla(TorchEager):
    """PyTorch on XLA's device. Its tensors have no addresses, and their strides do not describe memory."""

    name = "torch-xla"
    capabilities = TorchEager.capabilities - {
        Capability.MEMORY, Capability.LAYOUT, Capability.IDENTITY, Capability.ADDS_IN_PLACE, Capability.FUSED,
        Capability.AUTOCAST,
    }  # fmt: skip
    ops = TorchEager.ops - {"aminmax"}
    """All of PyTorch's ops but one, whose derivative PyTorch 2.9 does not implement."""
    variables = (*TorchEager.variables, "PJRT_", "XLA_")

    def __init__(self, device: str = "cpu") -> None:
        os.environ.setdefault(DEVICE, "CPU")
        super().__init__("torch_xla:xla" if device == "cpu" else device)

    def identity(self, gradient: torch.Tensor) -> None:  # type: ignore[override]
        """Returns None: gradients cannot be distinguished by their memory."""

    def memory(self, value: torch.Tensor) -> None:
        """Returns None: tensors have no addresses."""
