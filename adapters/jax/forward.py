"""Adapter for JAX in forward mode: https://docs.jax.dev/en/latest/_autosummary/jax.jvp.html."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from autograd_conformance.adapters.jax.adapter import Jax
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.dtypes import usual

IMPORTS = "from collections.abc import Callable\nfrom typing import Any"
"""The imports for the annotations of a function that a program is printed with."""


def by_jvp(function: Callable, values: tuple, cotangents: Any) -> tuple:
    """Returns the gradients of the inputs, as the pullback of `jax.vjp` does, by one `jax.jvp` for each element of each
    input.
    """

    def gradient(k: int) -> jax.Array:
        x, zeros = values[k], [jnp.zeros_like(each) for each in values]
        elements = []
        for unit in jnp.eye(x.size, dtype=x.dtype):
            tangents = (*zeros[:k], unit.reshape(x.shape), *zeros[k + 1 :])
            pushed = jax.jvp(function, values, tangents)[1]
            terms = jax.tree.map(lambda c, t: jnp.sum(c * t), cotangents, pushed)
            elements.append(sum(jax.tree.leaves(terms)))
        return jnp.stack(elements).astype(x.dtype).reshape(x.shape) if elements else jnp.zeros_like(x)

    return tuple(gradient(k) for k in range(len(values)))


class JaxJvp(Jax):
    """JAX with gradients from `jax.jvp`, one derivative for each element of each input, multiplied by the
    cotangents.
    """

    name = "jax-jvp"
    dtypes = usual(Jax.dtypes)
    """The usual ones: the products with the cotangents are the adapter's, and would round in few digits."""
    capabilities = Jax.capabilities - {Capability.CREATE_GRAPH, Capability.COTANGENT_CHECK}
    """First order only: a third derivative of n elements would take n³ calls. `jax.jvp` gets no cotangents."""
    dialect = replace(
        Jax.dialect,
        prelude=f"{Jax.dialect.prelude}\n{IMPORTS}\n\n\n{inspect.getsource(by_jvp)}\n",
        vjp="by_jvp({function}, ({inputs},), {cotangent})",
    )
    pullback = staticmethod(by_jvp)

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns JAX with gradients in reverse mode."""
        return {"with jax.vjp": partial(Jax, self.device.platform)}
