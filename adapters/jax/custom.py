"""Adapters for JAX with some ops as custom functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from autograd_conformance.adapters.jax import custom_functions
from autograd_conformance.adapters.jax.adapter import Jax, JaxJit
from autograd_conformance.frameworks.running.custom_functions import CALLS, with_functions

OPS: Mapping[str, str] = {
    **CALLS,
    "multiply_scalar": "scale({0}, {scalar})",
    "square": "jax.checkpoint(square)({0})",
}
"""The templates of the ops that are custom functions."""


class JaxCustom(Jax):
    """JAX with some ops as custom functions, by `jax.custom_vjp`, `jax.custom_jvp` and `jax.custom_gradient`."""

    name = "jax-custom"
    dialect = with_functions(Jax.dialect, custom_functions, OPS)

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns JAX without custom functions."""
        return {"without custom functions": partial(Jax, self.device.platform)}


class JaxJitCustom(JaxJit):
    """JAX with some ops as custom functions, and with its compiler around ops and calls."""

    name = "jax-jit-custom"
    dialect = with_functions(JaxJit.dialect, custom_functions, OPS)

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns JAX without its compiler, and JAX without custom functions."""
        device = self.device.platform
        return {
            "without jax.jit": partial(JaxCustom, device),
            "without custom functions": partial(JaxJit, device),
            "with neither": partial(Jax, device),
        }
