"""The namespace that the op catalogue's reference functions are written in."""

from __future__ import annotations

import os
from types import SimpleNamespace

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import jax.scipy.special

jax.config.update("jax_enable_x64", True)

J = SimpleNamespace(np=jnp, nn=jax.nn, lax=jax.lax, sp=jax.scipy.special, linalg=jnp.linalg)
