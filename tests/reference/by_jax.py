"""JAX's own results and gradients of a function, with which the staged ones are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import jax
import numpy as np

UNOPTIMIZED = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
"""Options of XLA for a function that runs once: compiling takes most of the time."""

Arrays = list[np.ndarray]


def by_jax(function: Callable, operands: Sequence, cotangents: Sequence) -> tuple[Arrays, Arrays]:  # type: ignore[type-arg]
    """The results of a function that returns a tuple, and the gradients of its operands."""

    @partial(jax.jit, compiler_options=UNOPTIMIZED)
    def both(operands, cotangents):  # type: ignore[no-untyped-def]
        made, pull = jax.vjp(function, *operands)
        return made, pull(tuple(cotangents))

    made, gradients = both(tuple(operands), tuple(cotangents))
    return [np.asarray(each) for each in made], [np.asarray(each) for each in gradients]
