"""PyTorch under settings that may change how it computes and must change no verdict: none may fail the suite.

`pytest --framework=tests.frameworks.adapters.configured:Flushed`. They bear PyTorch's name, so that its known
differences are theirs. What a process takes from its environment (hash seeds, threads, processor features) is set
there: `PYTHONHASHSEED`, `OMP_NUM_THREADS`, `ATEN_CPU_CAPABILITY`.
"""

from __future__ import annotations

import torch

from autograd_conformance.frameworks.pytorch.adapter import Torch


class Flushed(Torch):
    """Denormal numbers are flushed to zero."""

    def __init__(self, device: str = "cpu") -> None:
        torch.set_flush_denormal(True)
        super().__init__(device)


class Deterministic(Torch):
    """Algorithms that are not deterministic are refused."""

    def __init__(self, device: str = "cpu") -> None:
        torch.use_deterministic_algorithms(True)
        super().__init__(device)


class DefaultDouble(Torch):
    """Tensors whose dtype nobody names are float64."""

    def __init__(self, device: str = "cpu") -> None:
        torch.set_default_dtype(torch.float64)
        super().__init__(device)


class WithoutOneDnn(Torch):
    """oneDNN computes nothing."""

    def __init__(self, device: str = "cpu") -> None:
        torch.backends.mkldnn.set_flags(_enabled=False)
        super().__init__(device)


class ManyThreads(Torch):
    """Eight threads compute, however many processors there are."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        torch.set_num_threads(8)
