"""Reductions and scans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from examples.device.memory import DTYPES
from examples.device.registry import kernel


def axes(dim: Sequence[int] | None) -> tuple[int, ...] | None:
    """The dimensions to reduce: all where none is named."""
    return tuple(dim) if dim else None


@kernel("sum.IntList_out")
def total(x: np.ndarray, dim: Sequence[int] | None = None, keepdim: bool = False, *, dtype: Any = None) -> np.ndarray:
    """The sum; of no dimension where there is none."""
    return x if not x.ndim else x.sum(axes(dim), keepdims=keepdim, dtype=DTYPES.get(dtype))


@kernel("mean.out")
def mean(x: np.ndarray, dim: Sequence[int] | None = None, keepdim: bool = False, *, dtype: Any = None) -> np.ndarray:
    """The mean."""
    return x if not x.ndim else x.mean(axes(dim), keepdims=keepdim, dtype=DTYPES.get(dtype))


@kernel("amax.out")
def amax(x: np.ndarray, dim: Sequence[int] = (), keepdim: bool = False) -> np.ndarray:
    """The greatest elements."""
    return x if not x.ndim else x.max(axes(dim), keepdims=keepdim)


@kernel("amin.out")
def amin(x: np.ndarray, dim: Sequence[int] = (), keepdim: bool = False) -> np.ndarray:
    """The least elements."""
    return x if not x.ndim else x.min(axes(dim), keepdims=keepdim)


@kernel("max")
def greatest(x: np.ndarray) -> np.ndarray:
    """The greatest element of all."""
    return x.max()


@kernel("min")
def least(x: np.ndarray) -> np.ndarray:
    """The least element of all."""
    return x.min()


@kernel("max.dim_max")
def max_dim(x: np.ndarray, dim: int, keepdim: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The greatest elements along a dimension, and where they are."""
    return _chosen(x, dim, keepdim, np.argmax)


@kernel("min.dim_min")
def min_dim(x: np.ndarray, dim: int, keepdim: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The least elements along a dimension, and where they are."""
    return _chosen(x, dim, keepdim, np.argmin)


def _chosen(x: np.ndarray, dim: int, keepdim: bool, which: Any) -> tuple[np.ndarray, np.ndarray]:
    if not x.ndim:
        return x, np.zeros((), np.int64)
    index = which(x, dim, keepdims=True)
    values = np.take_along_axis(x, index, dim)
    return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))


@kernel("argmax.out")
def argmax(x: np.ndarray, dim: int | None = None, keepdim: bool = False) -> np.ndarray:
    """Where the greatest element is."""
    return np.argmax(x, dim if x.ndim else None, keepdims=keepdim)


@kernel("argmin.out")
def argmin(x: np.ndarray, dim: int | None = None, keepdim: bool = False) -> np.ndarray:
    """Where the least element is."""
    return np.argmin(x, dim if x.ndim else None, keepdims=keepdim)


@kernel("aminmax.out")
def aminmax(x: np.ndarray, *, dim: int | None = None, keepdim: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The least elements and the greatest."""
    along = dim if x.ndim else None
    return x.min(along, keepdims=keepdim), x.max(along, keepdims=keepdim)


@kernel("any.out", "any.dims_out")
def any_of(x: np.ndarray, dim: Any = None, keepdim: bool = False) -> np.ndarray:
    """Whether an element is true."""
    return np.any(x, None if dim is None or not x.ndim else dim, keepdims=keepdim)


@kernel("any.all_out")
def any_at_all(x: np.ndarray) -> np.ndarray:
    """Whether any element is true."""
    return np.any(x)


@kernel("all.all_out")
def all_at_all(x: np.ndarray) -> np.ndarray:
    """Whether all elements are true."""
    return np.all(x)


@kernel("prod")
def product(x: np.ndarray, *, dtype: Any = None) -> np.ndarray:
    """The product of all elements."""
    return x.prod(dtype=DTYPES.get(dtype))


@kernel("prod.int_out")
def product_dim(x: np.ndarray, dim: int, keepdim: bool = False, *, dtype: Any = None) -> np.ndarray:
    """The product along a dimension."""
    return x.prod(dim if x.ndim else None, keepdims=keepdim, dtype=DTYPES.get(dtype))


def variance(x: np.ndarray, dim: Sequence[int] | None, correction: float | None, keepdim: bool) -> np.ndarray:
    """The variance, less a number of degrees of freedom."""
    lost = 1 if correction is None else correction
    apart = x - x.mean(axes(dim) if x.ndim else None, keepdims=True)
    count = x.size if not x.ndim or not dim else int(np.prod([x.shape[each] for each in dim]))
    summed = (apart * apart).sum(axes(dim) if x.ndim else None, keepdims=keepdim)
    return np.asarray(summed / np.maximum(np.asarray(count - lost, x.dtype), 0), x.dtype)


@kernel("var.correction")
def var(
    x: np.ndarray, dim: Sequence[int] | None = None, *, correction: float | None = None, keepdim: bool = False
) -> np.ndarray:
    """The variance."""
    return variance(x, dim, correction, keepdim)


@kernel("std.correction")
def std(
    x: np.ndarray, dim: Sequence[int] | None = None, *, correction: float | None = None, keepdim: bool = False
) -> np.ndarray:
    """The standard deviation."""
    return np.sqrt(variance(x, dim, correction, keepdim))


@kernel("var_mean.correction")
def var_mean(
    x: np.ndarray, dim: Sequence[int] | None = None, *, correction: float | None = None, keepdim: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """The variance and the mean."""
    return variance(x, dim, correction, keepdim), mean(x, dim, keepdim)


@kernel("std_mean.correction")
def std_mean(
    x: np.ndarray, dim: Sequence[int] | None = None, *, correction: float | None = None, keepdim: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """The standard deviation and the mean."""
    return np.sqrt(variance(x, dim, correction, keepdim)), mean(x, dim, keepdim)


@kernel("linalg_vector_norm.out")
def vector_norm(
    x: np.ndarray, ord: float = 2, dim: Sequence[int] | None = None, keepdim: bool = False, *, dtype: Any = None
) -> np.ndarray:
    """A norm of elements as a vector."""
    size = np.abs(x.astype(DTYPES.get(dtype, x.dtype)))
    along = axes(dim) if x.ndim else None
    match ord:
        case 0:
            return (size != 0).sum(along, keepdims=keepdim)
        case float() if ord == np.inf:
            return size.max(along, keepdims=keepdim)
        case float() if ord == -np.inf:
            return size.min(along, keepdims=keepdim)
        case _:
            return (size**ord).sum(along, keepdims=keepdim) ** (1 / ord)


@kernel("cumsum.out")
def cumsum(x: np.ndarray, dim: int, *, dtype: Any = None) -> np.ndarray:
    """Sums so far."""
    return x if not x.ndim else x.cumsum(dim, dtype=DTYPES.get(dtype))


@kernel("cumprod.out")
def cumprod(x: np.ndarray, dim: int, *, dtype: Any = None) -> np.ndarray:
    """Products so far."""
    return x if not x.ndim else x.cumprod(dim, dtype=DTYPES.get(dtype))


@kernel("_logcumsumexp", "_logcumsumexp.out")
def logcumsumexp(x: np.ndarray, dim: int) -> np.ndarray:
    """Logarithms of sums of exponentials so far."""
    return x if not x.ndim else np.logaddexp.accumulate(x, dim)
