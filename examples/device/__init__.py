"""A device for PyTorch, written in Python: its memory is NumPy's, and so are its kernels.

Importing this module makes the device `example` known to PyTorch, as importing any other backend does.
"""

from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

_setup_privateuseone_for_python_backend("example")

from examples.device import kernels  # noqa: E402, F401 - the device has its name before it has kernels
