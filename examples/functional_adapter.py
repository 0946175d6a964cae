"""The smallest adapter of a framework that differentiates functions: a few ops of JAX, without printed code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from autograd_conformance.frameworks.running.functional import Functional
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Attrs
from autograd_conformance.programs.observations import Kind

OPS = {"add": jnp.add, "multiply": jnp.multiply, "negative": jnp.negative, "sin": jnp.sin}


class Functions(Functional):
    """A framework whose `vjp` takes a function."""

    name, version, packages = "functions", jax.__version__, ("jax", "jaxlib")
    dtypes = ("float32",)
    ops = frozenset(OPS)
    capabilities = frozenset({Capability.FUNCTIONAL, Capability.MATERIALIZES, Capability.COTANGENTS})
    dialect = None

    def __init__(self, device: str = "cpu") -> None:
        """Opens a device."""

    def leaf(self, data: np.ndarray, requires_grad: bool) -> Any:
        """Returns an array of the framework."""
        return jnp.asarray(data)

    def apply(self, op: str, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
        """Returns all results of an op."""
        function = OPS[op]
        return (function(*operands),)

    def vjp(
        self, function: Callable[..., tuple[Any, ...]], values: Sequence[Any], cotangents: Sequence[np.ndarray]
    ) -> Sequence[Any]:
        """Returns a gradient for each value."""
        _, pull = jax.vjp(function, *values)
        return pull(tuple(map(jnp.asarray, cotangents)))

    def read(self, value: Any) -> np.ndarray:
        """Returns a copy of the elements."""
        return np.array(value)

    def dtype(self, value: Any) -> str:
        """Returns the name of the dtype."""
        return str(value.dtype)

    def classify(self, error: BaseException) -> Kind:
        """Returns the kind of an error."""
        return Kind.UNKNOWN
