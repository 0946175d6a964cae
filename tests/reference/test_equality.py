"""Equality of arrays: the fast comparison of bytes agrees with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from autograd_conformance.reference.equality import is_equal

ARRAYS = [
    np.array(data, dtype).reshape(shape)
    for dtype in ("float32", "float64", "int64", "bool")
    for data, shape in (([1, 0], (2,)), ([1, 0], (1, 2)), ([1, 1], (2,)), ([], (0,)), ([], (0, 2)), (1, ()))
]
ARRAYS += [np.array([x, 1.0], dtype) for dtype in ("float32", "float64") for x in (0.0, -0.0, np.nan, np.inf, 0.1)]


@pytest.mark.parametrize("one", ARRAYS, ids=repr)
def test_numpy_says_the_same(one: np.ndarray) -> None:
    """The result agrees with NumPy for any two arrays, including both zeros, NaN, and numbers that a shorter format
    rounds.
    """
    for other in ARRAYS:
        assert is_equal(one, other) == np.array_equal(one, other, equal_nan=one.dtype.kind == "f" == other.dtype.kind)


def test_a_dtype_that_float64_does_not_hold() -> None:
    """Two integers that are equal as float64 are not equal."""
    assert not is_equal(np.array(2**53), np.array(2**53 + 1))
