"""The adapter of synapgrad (https://pypi.org/project/synapgrad/): PyTorch's interface, with a few differences.

Its dtypes are NumPy's, and `sum` has the keyword `keepdims` in place of `keepdim`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autograd_conformance.frameworks.torchlike.adapter import TorchLike
from autograd_conformance.programs.language import Attrs


class Synapgrad(TorchLike):
    """synapgrad. The calls and the printed code differ from PyTorch's in the same places."""

    module = "synapgrad"

    def __init__(self, device: str = "cpu") -> None:
        super().__init__(device=device)
        self.dialect = replace(
            self.dialect,
            prelude=f"import numpy\n{self.dialect.prelude}",
            tensor="torch.tensor({data}, dtype=numpy.{dtype}{flags})",
            empty="torch.tensor(numpy.zeros({shape}), dtype=numpy.{dtype}{flags})",
            ops={**self.dialect.ops, "sum": "torch.sum({0}, dim={dim}, keepdims={keepdim})"},
        )

    def tensor(self, data: np.ndarray, requires_grad: bool = False) -> Any:
        """Returns a tensor with the array's elements and dtype."""
        return self.torch.tensor(data, dtype=data.dtype, requires_grad=requires_grad)

    def apply(self, op: str, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
        """Returns all results of an op."""
        if op != "sum":
            return super().apply(op, operands, attrs)
        given = dict(attrs)
        return (self.torch.sum(*operands, dim=given["dim"], keepdims=given["keepdim"]),)
