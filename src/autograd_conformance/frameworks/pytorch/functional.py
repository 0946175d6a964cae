"""`torch.func`: https://docs.pytorch.org/docs/stable/func.html. PyTorch's ops under function transforms."""

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
    """PyTorch whose gradients are those of functions, by `torch.func.vjp`; higher orders are nested calls of it."""

    name = "torch-func"
    version = TorchEager.version
    capabilities = frozenset(
        {
            Capability.FUNCTIONAL, Capability.COTANGENTS, Capability.COTANGENT_CHECK, Capability.MULTIPLE_ROOTS,
            Capability.CREATE_GRAPH, Capability.DETACH, Capability.PROMOTES, Capability.MEMORY, Capability.VIEWS,
            Capability.LAYOUT, Capability.MATERIALIZES,
        }
    )  # fmt: skip
    """The documentation of `torch.func.vjp`: cotangents are of the same size as the output, and it can be nested; of
    `torch.func`: transforms are of PyTorch's own functions, which have views and promote."""
    ops = TorchEager.ops

    def __init__(self, device: str = "cpu") -> None:
        self.eager = TorchEager(device)
        self.dtypes = self.eager.dtypes
        self.dialect = replace(
            self.eager.dialect,
            differentiable="",  # what is differentiated is said by each call
            vjp="torch.func.vjp({function}, {inputs})[1]({cotangent})",
            ones="torch.ones_like({root})",
            drop="# {values}: functions that come later may need them",
        )

    def leaf(self, data: np.ndarray, requires_grad: bool) -> torch.Tensor:
        """A tensor from an array of its dtype; transforms ask for no flag."""
        return torch.tensor(data, device=self.eager.device)

    def apply(self, op: str, operands: Sequence[torch.Tensor], attrs: Attrs) -> Sequence[torch.Tensor]:
        """All results of an op."""
        return self.eager.apply(op, operands, attrs)

    def detach(self, value: torch.Tensor) -> torch.Tensor:
        """The same values without history."""
        return value.detach()

    def vjp(
        self,
        function: Callable[..., tuple[torch.Tensor, ...]],
        values: Sequence[torch.Tensor],
        cotangents: Sequence[np.ndarray],
    ) -> Sequence[torch.Tensor]:
        """`torch.func.vjp`; what it leaves in copies of the cotangents is copied back. They are arrays, for within
        functions tensors cannot be read.
        """
        copies = [c.copy() for c in cotangents]
        _, pull = torch.func.vjp(function, *values)
        try:
            return pull(tuple(torch.from_numpy(c).to(self.eager.device) for c in copies))
        finally:
            for array, copy in zip(cotangents, copies, strict=True):
                array[...] = copy

    def read(self, value: torch.Tensor) -> np.ndarray:
        """A copy of the values."""
        return self.eager.read(value)

    def dtype(self, value: torch.Tensor) -> str:
        """The dtype's name."""
        return self.eager.dtype(value)

    def memory(self, value: torch.Tensor) -> int | None:
        """Where the storage begins."""
        return self.eager.memory(value)

    def strides(self, value: torch.Tensor) -> tuple[int, ...]:
        """The strides in elements."""
        return self.eager.strides(value)

    def classify(self, error: BaseException) -> Kind:
        """The kind of an error by its message."""
        return self.eager.classify(error)
