"""Adapter for HIPS autograd: https://github.com/HIPS/autograd."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from autograd import make_vjp
from autograd.builtins import SequenceBox
from autograd.builtins import tuple as traced_tuple

from autograd_conformance.adapters.hips_autograd.dialect import DIALECT, OPS
from autograd_conformance.frameworks.running.functional import Functional
from autograd_conformance.frameworks.running.templates import Templates
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Attrs
from autograd_conformance.programs.observations import Kind

Array = Any
"""An array, a NumPy scalar, or autograd's box around one while a function is traced."""


class HipsAutograd(Functional):
    """Runs programs on HIPS autograd: values are NumPy arrays, and `make_vjp` traces a function of them."""

    name = "autograd"
    version = version("autograd")
    capabilities = frozenset(
        {
            Capability.FUNCTIONAL,
            Capability.MATERIALIZES,
            Capability.COTANGENTS,
            Capability.MULTIPLE_ROOTS,
            Capability.CREATE_GRAPH,
        }
    )
    """Source: autograd's tutorial. It differentiates functions and their gradients; a function may return a tuple."""
    ops = frozenset(OPS)
    dtypes = ("float64", "float32")
    dialect = DIALECT

    def __init__(self, device: str = "cpu") -> None:
        if device != "cpu":
            raise ValueError("autograd computes on the CPU only")
        self.templates = Templates.of(self.dialect)

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Array:
        """Returns the array itself: the runner does not use it again."""
        return data

    def apply(self, op: str, operands: Sequence[Array], attrs: Attrs) -> Sequence[Array]:
        """Returns all results of an op."""
        out = self.templates.op(op, attrs, len(operands))(*operands)
        return tuple(out) if isinstance(out, (tuple, list, SequenceBox)) else (out,)

    def vjp(
        self, function: Callable[..., tuple[Array, ...]], values: Sequence[Array], cotangents: Sequence[np.ndarray]
    ) -> Sequence[Array]:
        """Calls `make_vjp` with respect to all arguments; the function returns several results in autograd's own tuple
        type.
        """
        pull, _ = make_vjp(traced(function), tuple(range(len(values))))(*values)
        return tuple(pull(cotangents[0] if len(cotangents) == 1 else tuple(cotangents)))

    def read(self, value: Array) -> np.ndarray:
        """Returns a copy of an array or of a scalar."""
        return np.array(value)

    def dtype(self, value: Array) -> str:
        """Returns the name of the dtype."""
        return np.asarray(value).dtype.name

    def classify(self, error: BaseException) -> Kind:
        """Returns the kind of an error: autograd raises `NotImplementedError` if it lacks a derivative."""
        return Kind.NOT_IMPLEMENTED if isinstance(error, NotImplementedError) else Kind.UNKNOWN


def traced(function: Callable[..., tuple[Array, ...]]) -> Callable[..., Array]:
    """Returns the function with one result alone, and several in autograd's own tuple type."""

    def unpacked(*arguments: Array) -> Array:
        results = function(*arguments)
        return results[0] if len(results) == 1 else traced_tuple(results)

    return unpacked
