"""Adapter for MLX: https://ml-explore.github.io/mlx."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version

import mlx.core as mx
import numpy as np

from autograd_conformance.adapters.mlx.dialect import DIALECT, LIMITS, OPS
from autograd_conformance.frameworks.running.functional import Functional
from autograd_conformance.frameworks.running.templates import Templates
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Attrs
from autograd_conformance.programs.observations import Kind

MESSAGES = (
    ("does not match the shape of the output", Kind.COTANGENT_SHAPE),
    ("Not implemented for", Kind.NOT_IMPLEMENTED),
    ("Not implemented", Kind.NOT_IMPLEMENTED),
)
"""Parts of error messages, each with the kind of error that it identifies."""


class Mlx(Functional):
    """Runs programs on MLX on the CPU: arrays are lazy, and are computed when they are read."""

    name = "mlx"
    version = version("mlx")
    capabilities = frozenset(
        {
            Capability.FUNCTIONAL, Capability.COTANGENTS, Capability.MULTIPLE_ROOTS, Capability.CREATE_GRAPH,
            Capability.MATERIALIZES, Capability.DETACH,
        }
    )  # fmt: skip
    """Sources: the documentation of function transforms (`mx.vjp` of several results, transforms of transforms) and of
    `mx.stop_gradient`."""
    ops = frozenset(OPS)
    limits = LIMITS
    dtypes = ("float32",)
    """float32 alone: float64 arrays exist on the CPU, but many ops round them to float32."""
    dialect = DIALECT

    def __init__(self, device: str = "cpu") -> None:
        mx.set_default_device(mx.Device(getattr(mx.DeviceType, device)))
        self.templates = Templates.of(self.dialect)

    def leaf(self, data: np.ndarray, requires_grad: bool) -> mx.array:
        """Returns a copy of the array."""
        return mx.array(data)

    def apply(self, op: str, operands: Sequence[mx.array], attrs: Attrs) -> Sequence[mx.array]:
        """Returns all results of an op."""
        out = self.templates.op(op, attrs, len(operands))(*operands)
        return tuple(out) if isinstance(out, (tuple, list)) else (out,)

    def detach(self, value: mx.array) -> mx.array:
        """Calls `mx.stop_gradient`."""
        return mx.stop_gradient(value)

    def vjp(
        self,
        function: Callable[..., tuple[mx.array, ...]],
        values: Sequence[mx.array],
        cotangents: Sequence[np.ndarray],
    ) -> Sequence[mx.array]:
        """Calls `mx.vjp`, which takes and returns lists. Cotangents are copied."""
        _, gradients = mx.vjp(listed(function), list(values), [mx.array(each) for each in cotangents])
        return gradients

    def read(self, value: mx.array) -> np.ndarray:
        """Returns a copy of the elements; this computes them."""
        return np.array(value)

    def dtype(self, value: mx.array) -> str:
        """Returns the name of the dtype."""
        return str(value.dtype).rpartition(".")[2]

    def classify(self, error: BaseException) -> Kind:
        """Returns the kind of an error by its message: MLX raises only `ValueError` and `RuntimeError`."""
        text = str(error)
        return next((kind for part, kind in MESSAGES if part in text), Kind.UNKNOWN)


def listed(function: Callable[..., tuple[mx.array, ...]]) -> Callable[..., list[mx.array]]:
    """Returns the function with its results in a list, as MLX's transforms take it."""
    return lambda *arguments: list(function(*arguments))
