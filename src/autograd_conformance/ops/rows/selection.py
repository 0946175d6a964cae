"""Building blocks of reference functions: static indexing as products with matrices of zeros and ones.

Indices, masks and targets are attributes, and so are known before any value is. Every selection or scatter of an op is
therefore the product of a constant matrix and the flattened operand. NumPy determines the matrix by applying the same
indexing to the positions 0, 1, 2, ... So the reference needs no gather, scatter or sort, and is differentiable to any
order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autograd_conformance.programs.language import Attr, Shape
from autograd_conformance.programs.own_numpy import np

Array = Any


def nested(values: np.ndarray) -> Attr:
    """An array as nested tuples, which an attribute can contain."""
    return tuple(nested(v) for v in values) if values.ndim else values.item()


def positions(shape: Shape) -> np.ndarray:
    """Returns an array of this shape that contains the row-major position of each element: 0, 1, 2, ..."""
    return np.arange(np.prod(shape, dtype=int)).reshape(shape)


def picked(j: Any, x: Array, choose: Callable[[np.ndarray], np.ndarray]) -> Array:
    """Returns the elements of `x` that `choose` selects from an array of the same shape, such as ``lambda at:
    at[1:]``.
    """
    at = choose(positions(x.shape))
    return j.np.reshape(np.eye(x.size)[at.reshape(-1)] @ j.np.reshape(x, -1), at.shape)


def placed(j: Any, x: Array, choose: Callable[[np.ndarray], np.ndarray], shape: Shape) -> Array:
    """Returns an array of zeros of `shape`, with the elements of `x` added at the positions that `choose` selects from
    an array of that shape.
    """
    at = np.broadcast_to(choose(positions(shape)), x.shape)
    return j.np.reshape(np.eye(np.prod(shape, dtype=int))[at.reshape(-1)].T @ j.np.reshape(x, -1), shape)


def untouched(choose: Callable[[np.ndarray], np.ndarray], shape: Shape) -> np.ndarray:
    """An array of ones, with zeros where `choose` selects."""
    keep = np.ones(np.prod(shape, dtype=int))
    keep[choose(positions(shape)).reshape(-1)] = 0
    return keep.reshape(shape)


def put(j: Any, x: Array, source: Array, choose: Callable[[np.ndarray], np.ndarray]) -> Array:
    """`x` with the elements of `source` in place of those that `choose` selects."""
    return x * untouched(choose, x.shape) + placed(j, source, choose, x.shape)


def along(dim: int, index: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Returns a function that selects the elements of an array as `gather` does with `dim` and `index`; `index` may be
    shorter than the array in every dimension.
    """
    return lambda at: at[tuple(index if d == dim % at.ndim else i for d, i in enumerate(np.indices(index.shape)))]


def slices(j: Any, x: Array, dim: int) -> list[Array]:
    """The slices of `x` along `dim`, each with one element in that dimension."""
    return [j.lax.slice_in_dim(x, i, i + 1, axis=dim % x.ndim) for i in range(x.shape[dim])]


def stacked(j: Any, xs: list[Array], dim: int) -> Array:
    """Arrays of one shape, stacked along a new dimension."""
    return j.np.concatenate([j.np.expand_dims(x, dim) for x in xs], axis=dim)


def entry(j: Any, x: Array, *at: int) -> Array:
    """The elements at the indices `at` in the last dimensions, over all leading dimensions."""
    for i in at:
        x = j.lax.index_in_dim(x, i, axis=x.ndim - len(at), keepdims=False)
        at = at[1:]
    return x


def folded(j: Any, step: Callable[[Array, Array], Array], x: Array, dim: int) -> Array:
    """Combines the slices of `x` along `dim` by `step`, from the first to the last; the result has one element in that
    dimension.
    """
    first, *others = slices(j, x, dim)
    for other in others:
        first = step(first, other)
    return first


def scanned(j: Any, step: Callable[[Array, Array], Array], x: Array, dim: int) -> Array:
    """Combines the slices of `x` along `dim` by `step`, and joins every intermediate result, as a cumulative
    sum does.
    """
    if x.shape[dim] == 0:
        return x
    made = slices(j, x, dim)
    for i in range(1, len(made)):
        made[i] = step(made[i - 1], made[i])
    return j.np.concatenate(made, axis=dim)


def ordered(j: Any, x: Array, dim: int) -> Array:
    """The elements along `dim` in ascending order, if no two are equal: element `i` is moved to its rank."""
    x = j.np.moveaxis(x, dim, -1)
    rank = (x[..., None, :] < x[..., :, None]).sum(-1)
    here = rank[..., None, :] == np.arange(x.shape[-1])[:, None]
    return j.np.moveaxis(j.np.where(here, x[..., None, :], 0.0).sum(-1), -1, dim)


def logsumexp(j: Any, x: Array, dim: int | tuple[int, ...], keepdims: bool = False) -> Array:
    """The logarithm of the sum of exponentials, shifted by a constant so that nothing overflows."""
    shift = j.lax.stop_gradient(j.np.max(x, axis=dim, keepdims=True))
    out = j.np.log(j.np.sum(j.np.exp(x - shift), axis=dim, keepdims=True)) + shift
    return out if keepdims else j.np.squeeze(out, axis=dim)
