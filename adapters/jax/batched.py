"""Adapters for JAX's batches of derivatives: https://docs.jax.dev/en/latest/_autosummary/jax.vmap.html."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from autograd_conformance.adapters.jax.adapter import Jax
from autograd_conformance.adapters.jax.forward import IMPORTS
from autograd_conformance.programs.dtypes import usual


def by_vmap(function: Callable, values: tuple, cotangents: Any, shared: bool = False) -> tuple:
    """Returns the gradients of the inputs, as the pullback of `jax.vjp` does, as the second of a batch of two. With
    `shared`, both members of the batch have every other input in common.
    """

    def one(inputs: tuple, cotangents: Any) -> tuple:
        return jax.vjp(function, *inputs)[1](cotangents)

    def two(x: jax.Array, scale: float) -> jax.Array:
        # Nothing depends on the first member, whose numbers may be outside of a domain: 0 times NaN is NaN.
        return jnp.stack([(scale * jax.lax.stop_gradient(x)).astype(x.dtype), x])

    axes = tuple(None if shared and k % 2 else 0 for k in range(len(values)))
    batch = tuple(x if axis is None else two(x, 0.99609375) for x, axis in zip(values, axes))
    scaled = jax.tree.map(lambda c: two(c, 2.0), cotangents)  # of one result, or of several in a tuple
    found = jax.vmap(one, in_axes=(axes, 0))(batch, scaled)
    return tuple(gradients[1] for gradients in found)


class JaxVmap(Jax):
    """JAX with gradients from `jax.vjp` under `jax.vmap`: each call is the second of a batch of two."""

    name = "jax-vmap"
    dtypes = usual(Jax.dtypes)
    """The usual ones: in few digits, a batch may be rounded otherwise than its members."""
    dialect = replace(
        Jax.dialect,
        prelude=f"{Jax.dialect.prelude}\n{IMPORTS}\n\n\n{inspect.getsource(by_vmap)}\n",
        vjp="by_vmap({function}, ({inputs},), {cotangent})",
    )
    pullback = staticmethod(by_vmap)

    def simpler_modes(self) -> Mapping[str, Callable[[], Any]]:
        """Returns JAX without the batch."""
        return {"without jax.vmap": partial(Jax, self.device.platform)}


class JaxPerSample(JaxVmap):
    """JAX with gradients for each sample: as `jax-vmap`, where both members of the batch share every other input, as
    samples share weights.
    """

    name = "jax-per-sample"
    dialect = replace(JaxVmap.dialect, vjp="by_vmap({function}, ({inputs},), {cotangent}, shared=True)")
    pullback = staticmethod(partial(by_vmap, shared=True))
