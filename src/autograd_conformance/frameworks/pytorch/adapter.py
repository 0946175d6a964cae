"""PyTorch as the suite tests it: the eager adapter, and the one that counts its saved tensors."""

from __future__ import annotations

from autograd_conformance.frameworks.pytorch.eager import TorchEager
from autograd_conformance.frameworks.pytorch.errors import insists
from autograd_conformance.frameworks.pytorch.saved import TorchSaved


class Torch(TorchEager):
    """PyTorch, eager."""

    insists = insists()

    def saved_tensor_counter(self) -> TorchSaved:
        """The same framework with its saved tensors counted."""
        return TorchSaved(self.requested_device)
