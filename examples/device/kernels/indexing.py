"""Ops that select, scatter, join and rearrange elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from examples.device.registry import kernel


@kernel("cat.out")
def cat(tensors: Sequence[np.ndarray], dim: int = 0) -> np.ndarray:
    """Tensors joined along a dimension; empty vectors are skipped."""
    joined = [each for each in tensors if each.shape != (0,)]
    return np.concatenate(joined, dim) if joined else tensors[0]


@kernel("flip")
def flip(x: np.ndarray, dims: Sequence[int]) -> np.ndarray:
    """Dimensions in reverse."""
    return np.flip(x, tuple(dims))


@kernel("roll")
def roll(x: np.ndarray, shifts: Sequence[int], dims: Sequence[int] = ()) -> np.ndarray:
    """Elements shifted cyclically."""
    return np.roll(x, tuple(shifts) if dims else shifts[0], tuple(dims) or None)


@kernel("tril.out")
def tril(x: np.ndarray, diagonal: int = 0) -> np.ndarray:
    """The lower triangle."""
    return np.tril(x, diagonal)


@kernel("triu.out")
def triu(x: np.ndarray, diagonal: int = 0) -> np.ndarray:
    """The upper triangle."""
    return np.triu(x, diagonal)


@kernel("trace")
def trace(x: np.ndarray) -> np.ndarray:
    """The sum of the diagonal."""
    return np.trace(x)


@kernel("arange.start_out")
def arange(start: float, end: float, step: float = 1) -> np.ndarray:
    """Numbers at equal steps."""
    return np.arange(start, end, step)


@kernel("eye.m_out")
def eye(n: int, m: int) -> np.ndarray:
    """Ones on the diagonal."""
    return np.eye(n, m)


@kernel("index_select")
def index_select(x: np.ndarray, dim: int, index: np.ndarray) -> np.ndarray:
    """Slices along a dimension, by index."""
    return np.take(x, index, dim) if x.ndim else x


@kernel("gather.out")
def gather(x: np.ndarray, dim: int, index: np.ndarray, *, sparse_grad: bool = False) -> np.ndarray:
    """Elements along a dimension, each by its index."""
    return x[_places(index, dim)] if index.ndim and x.ndim else np.broadcast_to(x.reshape(()), index.shape)


@kernel("take")
def take(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Elements by their index in the flattened tensor."""
    return np.take(x, index)


@kernel("put_")
def put(x: np.ndarray, index: np.ndarray, source: np.ndarray, accumulate: bool = False) -> np.ndarray:
    """Elements written or added by their index in the flattened tensor."""
    made = x.flatten()
    at = index.reshape(-1) % max(made.size, 1)
    return _put(made, at, source.reshape(-1), accumulate).reshape(x.shape)


def _places(index: np.ndarray, dim: int) -> tuple[np.ndarray, ...]:
    """Indices, one array a dimension, of the elements that `gather` selects."""
    places: list[Any] = list(np.indices(index.shape, sparse=True))
    places[dim] = index
    return tuple(places)


def _put(made: np.ndarray, at: Any, values: Any, accumulate: bool) -> np.ndarray:
    """A copy of an array with values written or added to it."""
    if accumulate:
        np.add.at(made, at, values)
    else:
        made[at] = values
    return made


@kernel("scatter.src_out")
def scatter(x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Elements written along a dimension, each to its index."""
    return _scattered(x, dim, index, source, False)


@kernel("scatter.value_out")
def scatter_value(x: np.ndarray, dim: int, index: np.ndarray, value: float) -> np.ndarray:
    """One number written along a dimension, to each index."""
    return _scattered(x, dim, index, np.broadcast_to(np.asarray(value, x.dtype), index.shape), False)


@kernel("scatter_add.out")
def scatter_add(x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Elements added along a dimension, each at its index."""
    return _scattered(x, dim, index, source, True)


def _scattered(x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, accumulate: bool) -> np.ndarray:
    made, flat = np.atleast_1d(x.copy()), np.atleast_1d(index)
    part = np.atleast_1d(source)[tuple(map(slice, flat.shape))]
    return _put(made, _places(flat, dim), part, accumulate).reshape(x.shape)


def _along(dim: int, index: np.ndarray) -> tuple[Any, ...]:
    return (*[slice(None)] * dim, np.atleast_1d(index))


@kernel("index_add.out")
def index_add(x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, *, alpha: float = 1) -> np.ndarray:
    """Slices added along a dimension, by index."""
    made = np.atleast_1d(x.copy())
    added = np.atleast_1d(source) * np.asarray(alpha, x.dtype)
    return _put(made, _along(dim % made.ndim, index), added, True).reshape(x.shape)


@kernel("index_copy.out")
def index_copy(x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Slices written along a dimension, by index."""
    made = np.atleast_1d(x.copy())
    return _put(made, _along(dim % made.ndim, index), np.atleast_1d(source), False).reshape(x.shape)


@kernel("index_fill_.int_Scalar", "index_fill_.int_Tensor")
def index_fill(x: np.ndarray, dim: int, index: np.ndarray, value: Any) -> np.ndarray:
    """One number written to slices along a dimension, by index."""
    made = np.atleast_1d(x.copy())
    return _put(made, _along(dim % made.ndim, index), value, False).reshape(x.shape)


@kernel("index.Tensor_out")
def index(x: np.ndarray, indices: Sequence[np.ndarray | None]) -> np.ndarray:
    """Elements that `x[...]` selects by tensors of indices."""
    return x[_picked(indices)]


@kernel("_index_put_impl_")
def index_put(
    x: np.ndarray, indices: Sequence[np.ndarray | None], values: np.ndarray, accumulate: bool = False,
    unsafe: bool = False,
) -> np.ndarray:  # fmt: skip
    """`x[...] = values` with tensors of indices, or adding instead of assigning."""
    return _put(x.copy(), _picked(indices), values, accumulate)


def _picked(indices: Sequence[np.ndarray | None]) -> tuple[Any, ...]:
    return tuple(slice(None) if each is None else each for each in indices)


@kernel("nonzero")
def nonzero(x: np.ndarray) -> np.ndarray:
    """Indices of the elements that are not zero."""
    return np.argwhere(x).astype(np.int64)


@kernel("masked_select")
def masked_select(x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The elements that a mask selects."""
    return np.extract(*np.broadcast_arrays(mask, x))


@kernel("masked_scatter_")
def masked_scatter(x: np.ndarray, mask: np.ndarray, source: np.ndarray) -> np.ndarray:
    """Elements written in order where a mask is true."""
    made, chosen = x.copy(), np.broadcast_to(mask, x.shape)
    made[chosen] = source.reshape(-1)[: int(chosen.sum())]
    return made


@kernel("repeat_interleave.Tensor")
def repeat_interleave(repeats: np.ndarray, *, output_size: int | None = None) -> np.ndarray:
    """Each position, repeated as often as the number at it."""
    return np.repeat(np.arange(len(repeats), dtype=np.int64), repeats)


@kernel("embedding_dense_backward")
def embedding_backward(grad: np.ndarray, index: np.ndarray, count: int, padding: int, by_frequency: bool) -> np.ndarray:
    """Gradient of `embedding` with respect to its table."""
    made = np.zeros((count, grad.shape[-1]), grad.dtype)
    flat, given = index.reshape(-1), grad.reshape(-1, grad.shape[-1])
    kept = flat != padding
    return _put(made, flat[kept], given[kept], True)


@kernel("unfold_backward")
def unfold_backward(grad: np.ndarray, sizes: Sequence[int], dim: int, size: int, step: int) -> np.ndarray:
    """Gradient of `unfold` with respect to its operand."""
    made = np.zeros(sizes, grad.dtype)
    if not sizes:
        return grad.reshape(())
    windows = np.moveaxis(grad, dim, 0)
    along = np.moveaxis(made, dim, -1)
    for at, window in enumerate(windows):
        along[..., at * step : at * step + size] += window
    return made


@kernel("sort.values_stable")
def sort(
    x: np.ndarray, *, stable: bool | None = None, dim: int = -1, descending: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Sorted elements and their indices; the sort is stable."""
    if not x.ndim:
        return x, np.zeros((), np.int64)
    order = np.argsort(-x if descending else x, dim, stable=True)
    return np.take_along_axis(x, order, dim), order


@kernel("topk.values")
def topk(
    x: np.ndarray, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """The `k` largest or smallest elements and their indices."""
    values, order = sort(x, dim=dim, descending=largest)
    return (values, order) if not x.ndim else tuple(np.take(each, range(k), dim) for each in (values, order))
