"""The namespace that the op catalogue's reference functions are written in."""

from __future__ import annotations

from types import SimpleNamespace

from autograd_conformance.reference.staging.lazy_modules import Late, jnp

J = SimpleNamespace(
    np=jnp, nn=Late("jax.nn"), lax=Late("jax.lax"), sp=Late("jax.scipy.special"), linalg=Late("jax.numpy.linalg")
)
