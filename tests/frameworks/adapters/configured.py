"""PyTorch with settings that may change how it computes but must change no verdict.

Run `pytest --framework=tests.frameworks.adapters.configured:Flushed`. The adapters have PyTorch's name, so that its
known differences apply. Settings of a process (hash seed, threads, processor features) are environment variables:
`PYTHONHASHSEED`, `OMP_NUM_THREADS`, `ATEN_CPU_CAPABILITY`.
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
    """Nondeterministic algorithms raise."""

    def __init__(self, device: str = "cpu") -> None:
        torch.use_deterministic_algorithms(True)
        super().__init__(device)


class DefaultDouble(Torch):
    """The default dtype is float64."""

    def __init__(self, device: str = "cpu") -> None:
        torch.set_default_dtype(torch.float64)
        super().__init__(device)


class WithoutOneDnn(Torch):
    """oneDNN is turned off."""

    def __init__(self, device: str = "cpu") -> None:
        torch.backends.mkldnn.set_flags(_enabled=False)
        super().__init__(device)


class ManyThreads(Torch):
    """Eight threads compute, regardless of the number of processors."""

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device)
        torch.set_num_threads(8)
