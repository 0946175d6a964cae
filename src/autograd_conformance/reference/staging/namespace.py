"""The namespace `j` of the op catalogue's reference functions, with JAX's modules."""

from __future__ import annotations

from types import SimpleNamespace

from autograd_conformance.reference.staging.lazy_modules import LazyModule, jnp

J = SimpleNamespace(
    np=jnp,
    nn=LazyModule("jax.nn"),
    lax=LazyModule("jax.lax"),
    sp=LazyModule("jax.scipy.special"),
    linalg=LazyModule("jax.numpy.linalg"),
)
