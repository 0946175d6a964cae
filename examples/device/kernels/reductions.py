"""Reductions and scans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from examples.device.memory import DTYPES
from examples.device.registry import kernel

Function = Callable[..., Any]


def axes(dim: int | Sequence[int] | None) -> int | tuple[int, ...] | None:
    """The dimensions to reduce; None, which means all, if no dimension is named."""
    return dim if isinstance(dim, int) else tuple(dim) if dim else None


def over(function: Function) -> Function:
    """The kernel that reduces dimensions by a function of NumPy; it returns a 0-d operand unchanged."""

    def reduced(x: np.ndarray, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> np.ndarray:
        kind = {} if dtype is None else {"dtype": DTYPES[dtype]}
        return function(x, axes(dim), keepdims=keepdim, **kind) if x.ndim else x

    return reduced


total, mean = over(np.sum), over(np.mean)

REDUCED = {
    "sum.IntList_out": total, "mean.out": mean, "prod.int_out": over(np.prod), "amax.out": over(np.max),
    "amin.out": over(np.min),
}  # fmt: skip
"""Reductions of some dimensions, by PyTorch's names."""

WHOLE = {"max": np.max, "min": np.min, "any.all_out": np.any, "all.all_out": np.all}
"""Reductions of all elements, by PyTorch's names."""

PLACES = {"max.dim_max": np.argmax, "min.dim_min": np.argmin}
"""Functions that find the index of an element along a dimension, by PyTorch's names."""

SCANS = {"cumsum.out": np.cumsum, "cumprod.out": np.cumprod}
"""Cumulative ops, by PyTorch's names."""


def chosen(which: Function) -> Function:
    """The kernel that returns the elements that a function of NumPy finds along a dimension, and their indices."""

    def choose(x: np.ndarray, dim: int, keepdim: bool = False) -> tuple[np.ndarray, np.ndarray]:
        if not x.ndim:
            return x, np.zeros((), np.int64)
        index = which(x, dim, keepdims=True)
        values = np.take_along_axis(x, index, dim)
        return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))

    return choose


def found(which: Function) -> Function:
    """The kernel that returns indices alone, along a dimension or in the flattened operand."""

    def find(x: np.ndarray, dim: int | None = None, keepdim: bool = False) -> np.ndarray:
        return which(x, dim if x.ndim else None, keepdims=keepdim)

    return find


def scan(function: Function) -> Function:
    """The kernel of a cumulative function of NumPy."""

    def scanned(x: np.ndarray, dim: int, *, dtype: Any = None) -> np.ndarray:
        return function(x, dim, dtype=DTYPES.get(dtype)) if x.ndim else x

    return scanned


for name, function in REDUCED.items():
    kernel(name)(function)
for name, function in WHOLE.items():
    kernel(name)(lambda x, function=function: function(x))
for name, which in PLACES.items():
    kernel(name)(chosen(which))
for name, function in SCANS.items():
    kernel(name)(scan(function))
kernel("argmax.out")(found(np.argmax))
kernel("argmin.out")(found(np.argmin))


@kernel("aminmax.out")
def aminmax(x: np.ndarray, *, dim: int | None = None, keepdim: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest elements."""
    along = dim if x.ndim else None
    return x.min(along, keepdims=keepdim), x.max(along, keepdims=keepdim)


@kernel("any.out", "any.dims_out")
def any_of(x: np.ndarray, dim: Any = None, keepdim: bool = False) -> np.ndarray:
    """Whether any element is true."""
    return np.any(x, None if dim is None or not x.ndim else dim, keepdims=keepdim)


@kernel("prod")
def product(x: np.ndarray, *, dtype: Any = None) -> np.ndarray:
    """The product of all elements."""
    return x.prod(dtype=DTYPES.get(dtype))


def variance(x: np.ndarray, dim: Sequence[int] | None, correction: float | None, keepdim: bool) -> np.ndarray:
    """The variance, with a correction of the number of degrees of freedom."""
    lost = 1 if correction is None else correction
    along = axes(dim) if x.ndim else None
    apart = x - x.mean(along, keepdims=True)
    count = x.size if not x.ndim or not dim else int(np.prod([x.shape[each] for each in dim]))
    summed = (apart * apart).sum(along, keepdims=keepdim)
    return np.asarray(summed / np.maximum(np.asarray(count - lost, x.dtype), 0), x.dtype)


def moments(root: bool, both: bool) -> Function:
    """The kernel of the variance or the standard deviation, and of the mean too if `both` is true."""

    def computed(
        x: np.ndarray, dim: Sequence[int] | None = None, *, correction: float | None = None, keepdim: bool = False
    ) -> Any:
        made = variance(x, dim, correction, keepdim)
        made = np.sqrt(made) if root else made
        return (made, mean(x, dim, keepdim)) if both else made

    return computed


for name, root in (("var", False), ("std", True)):
    kernel(f"{name}.correction")(moments(root, both=False))
    kernel(f"{name}_mean.correction")(moments(root, both=True))


@kernel("linalg_vector_norm.out")
def vector_norm(
    x: np.ndarray, ord: float = 2, dim: Sequence[int] | None = None, keepdim: bool = False, *, dtype: Any = None
) -> np.ndarray:
    """A vector norm of the elements."""
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


@kernel("_logcumsumexp", "_logcumsumexp.out")
def logcumsumexp(x: np.ndarray, dim: int) -> np.ndarray:
    """Logarithm of the cumulative sum of exponentials."""
    return x if not x.ndim else np.logaddexp.accumulate(x, dim)
