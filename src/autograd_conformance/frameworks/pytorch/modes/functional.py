"""PyTorch's ops under `torch.func`: https://docs.pytorch.org/docs/stable/func.html."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch

from autograd_conformance.frameworks.pytorch.eager import TorchEager
from autograd_conformance.frameworks.running.functional import Functional
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Attrs
from autograd_conformance.programs.observations import Kind


class TorchFunc(Functional):
    """PyTorch with gradients from `torch.func.vjp`; nested calls compute derivatives of higher order."""

    name = "torch-func"
    version = TorchEager.version
    capabilities = frozenset(
        {
            Capability.FUNCTIONAL, Capability.COTANGENTS, Capability.COTANGENT_CHECK, Capability.MULTIPLE_ROOTS,
            Capability.CREATE_GRAPH, Capability.DETACH, Capability.PROMOTES, Capability.MEMORY, Capability.VIEWS,
            Capability.LAYOUT, Capability.MATERIALIZES,
        }
    )  # fmt: skip
    """The capabilities that PyTorch documents for transforms of functions. The documentation of `torch.func.vjp` says
    that a cotangent has the size of its output, and that calls can be nested. That of `torch.func` says that transforms
    apply to PyTorch's own functions, which have views and promote dtypes.
    """
    ops = TorchEager.ops

    def __init__(self, device: str = "cpu") -> None:
        self.eager = TorchEager(device)
        self.dtypes = self.eager.dtypes
        self.dialect = replace(
            self.eager.dialect,
            differentiable="",  # each call names the values to differentiate
            vjp="torch.func.vjp({function}, {inputs})[1]({cotangent})",
            ones="torch.ones_like({root})",
            drop="# {values}: functions that come later may need them",
        )

    def leaf(self, data: np.ndarray, requires_grad: bool) -> torch.Tensor:
        """Returns a tensor with the array's dtype; transforms need no `requires_grad`."""
        return self.eager.tensor(data)

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        """Returns all results of an op."""
        return self.eager.apply(op, operands, attrs)

    def detach(self, value: torch.Tensor) -> torch.Tensor:
        """Returns the same values without history."""
        return value.detach()

    def vjp(
        self,
        function: Callable[..., tuple[torch.Tensor, ...]],
        values: Sequence[torch.Tensor],
        cotangents: Sequence[np.ndarray],
    ) -> Sequence[torch.Tensor]:
        """Calls `torch.func.vjp`. Cotangents are arrays, because tensors cannot be read inside a function. PyTorch gets
        copies of them, and the copies are written back to the arrays.
        """
        copies = [c.copy() for c in cotangents]
        _, pull = torch.func.vjp(function, *values)
        try:
            return pull(tuple(shared(c).to(self.eager.device) for c in copies))
        finally:
            for array, copy in zip(cotangents, copies, strict=True):
                array[...] = copy

    def read(self, value: torch.Tensor) -> np.ndarray:
        """Returns a copy of the elements."""
        return self.eager.read(value)

    def dtype(self, value: torch.Tensor) -> str:
        """Returns the name of the dtype."""
        return self.eager.dtype(value)

    def memory(self, value: torch.Tensor) -> int | None:
        """Returns the address of the storage."""
        return self.eager.memory(value)

    def strides(self, value: torch.Tensor) -> tuple[int, ...]:
        """Returns the strides, in elements."""
        return self.eager.strides(value)

    def classify(self, error: BaseException) -> Kind:
        """Classify an error by its message."""
        return self.eager.classify(error)


def shared(array: np.ndarray) -> torch.Tensor:
    """Returns a tensor that shares an array's memory."""
    if array.dtype.kind == "V":  # bfloat16, of which PyTorch reads no array
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
