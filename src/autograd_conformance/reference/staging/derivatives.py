"""Makes functions of ops and in-place writes, in JAX and staged to NumPy, with their vector-Jacobian products."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.programs.language import Attrs, Literal, Shape
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.staging.cache import store
from autograd_conformance.reference.staging.namespace import J
from autograd_conformance.reference.staging.numpy_source import stage
from autograd_conformance.reference.staging.source import Loaded, Reads, Source, Staged
from autograd_conformance.reference.staging.vjp import RecordedOp, Vjp

if TYPE_CHECKING:
    import jax
else:
    from autograd_conformance.reference.staging.lazy_modules import jax

Array = np.ndarray

KEPT = 8192
"""Largest number of functions of each kind (forward, vector-Jacobian product) that are kept in memory; others are
loaded from disk again, in tens of microseconds."""

np.seterr(all="ignore")  # a drawn program may overflow; the judge compares infinities, NumPy need not warn


def definition(op: RecordedOp, attrs: Attrs) -> Callable[..., tuple[jax.Array, ...]]:
    """Returns an op of the op table, an in-place write, or a derivative of one, as a JAX function that returns a
    tuple.
    """
    if isinstance(op, Vjp):
        return _differentiated(op, attrs)
    reference, keywords = row_of(op).reference, dict(attrs)

    def defined(*operands: jax.Array) -> tuple[jax.Array, ...]:
        out = reference(J, *operands, **keywords)
        return tuple(out) if isinstance(out, (tuple, list)) else (out,)

    return defined


def _differentiated(op: Vjp, attrs: Attrs) -> Callable[..., tuple[jax.Array, ...]]:
    function, count = definition(op.op, attrs), op.arity
    return lambda *inputs: jax.vjp(function, *inputs[:count])[1](tuple(inputs[count:]))


def forward_of(op: RecordedOp, attrs: Attrs, shapes: tuple[Shape, ...]) -> Staged:
    """Returns a NumPy function that computes the results of an op from its operands."""
    return _forward(op, attrs, shapes).function


def reaching(op: RecordedOp, attrs: Attrs, shapes: tuple[Shape, ...]) -> Reads:
    """Returns, for each result of an op, the positions of the operands on which the result depends."""
    return _forward(op, attrs, shapes).reads


@lru_cache(maxsize=KEPT)
def _forward(op: RecordedOp, attrs: Attrs, shapes: tuple[Shape, ...]) -> Loaded:
    return store().staged(("forward", op, attrs, shapes), lambda: forward_source(op, attrs, shapes))


def forward_source(op: RecordedOp, attrs: Attrs, shapes: tuple[Shape, ...]) -> Source:
    """Traces an op on operands of some shapes."""
    return stage(definition(op, attrs), *shapes)


def vjp_of(op: RecordedOp, attrs: Attrs, shapes: tuple[Shape, ...]) -> Staged:
    """Returns a NumPy function that computes the vector-Jacobian product of an op from its operands and its results'
    cotangents.
    """
    return staged_vjp(op, attrs, shapes).function


@lru_cache(maxsize=KEPT)
def staged_vjp(op: RecordedOp, attrs: Attrs, shapes: tuple[Shape, ...]) -> Loaded:
    """Returns an op's vector-Jacobian product, staged: the NumPy function, and the arguments on which each result
    depends.
    """
    return store().staged(("vjp", op, attrs, shapes), lambda: vjp_source(op, attrs, shapes))


def vjp_source(op: RecordedOp, attrs: Attrs, shapes: tuple[Shape, ...]) -> Source:
    """Traces the vector-Jacobian product of an op on operands of some shapes."""
    function = definition(op, attrs)

    def pull(*inputs: jax.Array) -> tuple[jax.Array, ...]:
        return jax.vjp(function, *inputs[: len(shapes)])[1](tuple(inputs[len(shapes) :]))

    outs = jax.eval_shape(function, *(jax.ShapeDtypeStruct(s, np.float64) for s in shapes))
    return stage(pull, *shapes, *(o.shape for o in outs))


def array(value: Literal) -> Array:
    """Returns a literal as a float64 array."""
    return np.array(value.data, dtype=np.float64).reshape(value.shape)
