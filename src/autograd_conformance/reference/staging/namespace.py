"""The namespace `j` with JAX's modules, such as ``j.np`` and ``j.nn``, that the reference function of each op takes as
its first argument.
"""

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
