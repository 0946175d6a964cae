"""PyTorch on the device `example`: `--framework examples.device.adapter:TorchOnExample --device example`."""

from __future__ import annotations

import examples.device  # noqa: F401 - it makes the device known to PyTorch
from autograd_conformance.frameworks.pytorch.eager import TorchEager


class TorchOnExample(TorchEager):
    """PyTorch's eager mode on the example's device: nothing differs but that somebody has to import it."""

    def __init__(self, device: str = "example") -> None:
        super().__init__(device)
