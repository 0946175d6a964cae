"""PyTorch in eager mode, with an adapter that counts its saved tensors."""

from __future__ import annotations

from autograd_conformance.frameworks.pytorch.eager import TorchEager
from autograd_conformance.frameworks.pytorch.errors import insists
from autograd_conformance.frameworks.pytorch.saved import TorchSaved


class Torch(TorchEager):
    """PyTorch in eager mode."""

    insists = insists()

    def saved_tensor_counter(self) -> TorchSaved:
        """Returns an adapter of eager PyTorch that counts saved tensors."""
        return TorchSaved(self.requested_device)
