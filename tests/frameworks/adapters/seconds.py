"""PyTorch, with ops that take a second each."""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch

from autograd_conformance.frameworks.pytorch.adapter import Torch
from autograd_conformance.programs.language import Attrs


class TorchSeconds(Torch):
    """Each op takes a second."""

    name = "torch-seconds"

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        time.sleep(1.0)
        return super().apply(op, operands, attrs)
