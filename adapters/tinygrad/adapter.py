"""Adapter for tinygrad: each instruction of a program is one call of tinygrad's public interface; values are computed
when they are read.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import ClassVar

import numpy as np
from tinygrad import Tensor, dtypes
from tinygrad.helpers import DEV, PARALLEL
from tinygrad.uop.ops import Ops

from autograd_conformance.adapters.tinygrad.dialect import OPS, dialect
from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.frameworks.running.templates import Templates
from autograd_conformance.programs.capabilities import Capability, Traits
from autograd_conformance.programs.language import Attrs
from autograd_conformance.programs.observations import Kind

_DTYPES = {
    dtypes.float64: "float64", dtypes.float32: "float32", dtypes.float16: "float16", dtypes.bfloat16: "bfloat16",
    dtypes.int64: "int64", dtypes.int32: "int32", dtypes.int16: "int16", dtypes.int8: "int8", dtypes.bool: "bool",
    dtypes.uint64: "uint64", dtypes.uint32: "uint32", dtypes.uint16: "uint16", dtypes.uint8: "uint8",
}  # fmt: skip
"""NumPy's names of tinygrad's dtypes."""


class Tinygrad(Adapter):
    """Runs programs on tinygrad's `Tensor`."""

    name = "tinygrad"
    version = version("tinygrad")
    capabilities = frozenset(
        {
            Capability.IMPERATIVE,
            Capability.ACCUMULATES,
            Capability.COTANGENTS,
            Capability.NON_SCALAR_CHECK,
            Capability.IDENTITY,
            Capability.DETACH,
            Capability.ZERO_TO_NONE,
        }
    )
    """tinygrad has no constants, since every float tensor requires grad, and no way to free a graph."""
    traits = Traits(implicit_for_numbers=True, fills=True)
    """Sources: `Tensor.backward`. Without a gradient "the tensor must be a scalar", and it "fills .grad for every
    in-scope float tensor", with zeros for tensors that the root does not depend on.
    """
    trait_sources: ClassVar[Mapping[str, str]] = {
        "implicit_for_numbers": "docstring of tinygrad.Tensor.backward",
        "fills": "tinygrad/tensor.py, the comment in Tensor.backward",
    }
    ops = frozenset(OPS)
    dtypes = ("float64", "float32")

    def __init__(self, device: str = "cpu") -> None:
        if device == "cpu" and shutil.which("clang") is None:
            device = "python"
        DEV.value = device.upper()
        if "PARALLEL" not in os.environ:  # else tinygrad starts a process for sixteen kernels; all cores are busy
            PARALLEL.value = 0
        self.dialect = dialect(device.upper())
        self.templates = Templates.of(self.dialect)
        Tensor([0.0]).numpy()

    def reset(self) -> None:
        """Does nothing: tinygrad keeps only compiled kernels between programs."""

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Tensor:
        """Returns a tensor from an array of its dtype; from a number, tinygrad would make a constant without memory."""
        assert requires_grad, "constants are not claimed, so no program has any"
        return _tensor(data)

    def apply(self, op: str, operands: Sequence[Tensor], attrs: Attrs) -> Sequence[Tensor]:
        """Returns all results of an op."""
        made = self.templates.op(op, attrs, len(operands))(*operands)
        return (made,) if isinstance(made, Tensor) else tuple(made)

    def detach(self, value: Tensor) -> Tensor:
        """Calls `Tensor.detach`."""
        return value.detach()

    def backward(
        self, roots: Sequence[Tensor], cotangents: Sequence[np.ndarray | None], retain_graph: bool | None
    ) -> None:
        """Calls `Tensor.backward`, and copies the cotangent back, so that a write to it is observed."""
        (root,), (cotangent,) = roots, cotangents
        given = None if cotangent is None else _tensor(cotangent)
        try:
            root.backward(given)
        finally:
            if cotangent is not None and given is not None:
                cotangent[...] = given.numpy()

    def zero_grad(self, leaves: Sequence[Tensor], set_to_none: bool) -> None:
        """Sets `grad` of each leaf to None, as the optimizers' `zero_grad` does."""
        assert set_to_none, "clearing to zeros is not claimed"
        for leaf in leaves:
            leaf.grad = None

    def gradient(self, leaf: Tensor) -> Tensor | None:
        """Returns `Tensor.grad`."""
        return leaf.grad

    def identity(self, gradient: Tensor) -> int:
        """Returns the id of the buffer with a gradient's elements, or of the tensor if the elements are not computed
        yet.
        """
        base = gradient.uop.base
        return id(base if base.op is Ops.BUFFER else gradient)

    def read(self, value: Tensor) -> np.ndarray:
        """Returns a copy of the elements; this computes them."""
        return value.numpy().copy()

    def dtype(self, value: Tensor) -> str:
        """Returns the dtype's name."""
        return _DTYPES.get(value.dtype, value.dtype.name)

    def requires_grad(self, value: Tensor) -> None:
        """Returns None: every float tensor of tinygrad requires grad."""

    def classify(self, error: BaseException) -> Kind:
        """Returns the kind of an error by its message: tinygrad's refusals are assertions."""
        unseeded = isinstance(error, AssertionError) and "backward must be called on a scalar tensor" in str(error)
        return Kind.NON_SCALAR_ROOT if unseeded else Kind.UNKNOWN


def _tensor(data: np.ndarray) -> Tensor:
    return Tensor(data) if data.shape else Tensor(data.reshape(1)).reshape(())
