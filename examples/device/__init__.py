"""A device for PyTorch, written in Python: its memory and its kernels are NumPy's.

Importing this module registers the device `example` with PyTorch, like importing any other backend.
"""

import torch
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend


class Module(_DummyBackendModule):
    """The module `torch.example`."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        """The dtypes of autocasting: none. PyTorch's checkpoints query them on every device."""
        return []


_setup_privateuseone_for_python_backend("example", backend_module=Module())

from examples.device import kernels  # noqa: E402, F401 - the device has its name before it has kernels
