"""A device for PyTorch, written in Python: its memory is NumPy's, and so are its kernels.

Importing this module makes the device `example` known to PyTorch, as importing any other backend does.
"""

import torch
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend


class Module(_DummyBackendModule):
    """What `torch.example` is."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        """The dtypes of autocasting, which PyTorch's checkpoints ask for on whatever device."""
        return []


_setup_privateuseone_for_python_backend("example", backend_module=Module())

from examples.device import kernels  # noqa: E402, F401 - the device has its name before it has kernels
