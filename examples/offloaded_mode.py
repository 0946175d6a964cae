"""A mode of PyTorch in one file: the tensors that a region saves wait on the CPU.

pytest --framework examples.offloaded_mode:TorchOffloaded
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from autograd_conformance.frameworks.pytorch.modes.checkpoints import Checkpoint
from autograd_conformance.frameworks.pytorch.modes.layers import Function, Layer
from autograd_conformance.frameworks.pytorch.modes.regions import TorchRegions
from autograd_conformance.programs.capabilities import Capability

PRELUDE = """\
def offloaded(function, *inputs):
    with torch.autograd.graph.save_on_cpu():
        return function(*inputs)"""


class Offload(Layer):
    """Moves the tensors that a region saves to the CPU."""

    label, words = "offloaded", "save_on_cpu"
    excludes = (Capability.WRITE_CHECKS,)  # saved tensors are copies, which a write does not change
    prelude, call = PRELUDE, "offloaded({arguments})"

    def called(self, function: Function, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
        """The region's results."""
        with torch.autograd.graph.save_on_cpu():
            return function(*inputs)


class TorchOffloaded(TorchRegions):
    """Saves the tensors of each region on the CPU."""

    layers = (Offload(),)


class TorchCheckpointOffloaded(TorchRegions):
    """Saves the tensors of each checkpoint on the CPU."""

    layers = (Offload(), Checkpoint())
