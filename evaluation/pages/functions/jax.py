"""The functions of JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np
from jax.errors import ConcretizationTypeError

from autograd_conformance.adapters.jax.adapter import Jax
from evaluation.pages.functions.function import Notes
from evaluation.pages.functions.library import Library
from evaluation.pages.functions.trial import Outcome


def differentiate(function: Callable[..., Any], operands: Sequence[jax.Array]) -> Outcome:
    """Differentiate a function with `jax.vjp`: in a trace, which compiles nothing, or with numbers if the function
    needs them.
    """

    def floats(*operands: jax.Array) -> list[jax.Array]:
        return [leaf for leaf in leaves(function(*operands)) if jnp.issubdtype(leaf.dtype, jnp.inexact)]

    def pullback(operands: Sequence[jax.Array], cotangents: Sequence[jax.Array]) -> Sequence[jax.Array]:
        return jax.vjp(floats, *operands)[1](list(cotangents))

    try:
        results = jax.eval_shape(floats, *operands)
        if not results:
            return Outcome.NO_FLOATS
        return Outcome.DERIVATIVE if depends(pullback, operands, results) else Outcome.ZERO
    except ConcretizationTypeError:
        given = floats(*operands)
        if not given:
            return Outcome.NO_FLOATS
        gradients = pullback(operands, [jnp.linspace(0.5, 1.5, x.size, dtype=x.dtype).reshape(x.shape) for x in given])
        return Outcome.DERIVATIVE if any(bool(jnp.any(x != 0)) for x in gradients) else Outcome.ZERO


def leaves(results: Any) -> list[jax.Array]:
    """The arrays of a function's results; `TypeError` for what is no array, as strings and functions are not."""
    found = jax.tree.leaves(results)
    if not found:
        raise TypeError("no results")
    return [jnp.asarray(leaf) for leaf in found]


def depends(pullback: Callable[..., Any], operands: Sequence[Any], cotangents: Sequence[Any]) -> bool:
    """Whether gradients are computed from the cotangents: where derivatives are zero, JAX makes zeros of nothing."""
    code = jax.make_jaxpr(pullback)(operands, cotangents).jaxpr
    from_cotangents = {*code.invars[len(operands) :]}
    for step in code.eqns:
        if any(hash_or_none(each) in from_cotangents for each in step.invars):
            from_cotangents.update(step.outvars)
    return any(hash_or_none(each) in from_cotangents for each in code.outvars)


def hash_or_none(variable: Any) -> Any:
    """A variable of a jaxpr; None for a literal, which has no hash."""
    return None if hasattr(variable, "val") else variable


def library() -> Library:
    """JAX's modules of functions."""
    return Library(
        "jax",
        {
            "jnp": jnp, "jnp.linalg": jnp.linalg, "jnp.fft": jnp.fft, "jax.nn": jax.nn, "jsp.special": jsp.special,
            "jsp.linalg": jsp.linalg, "jax.lax": jax.lax, "jax.lax.linalg": jax.lax.linalg,
        },
        Jax,
        lambda numbers: jnp.asarray(np.array(numbers, np.float32)),
        differentiate,
        Notes.of("jax"),
    )  # fmt: skip
