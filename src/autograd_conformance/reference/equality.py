"""Whether two arrays hold the same numbers: told from their bytes first, which is nearly always enough."""

from __future__ import annotations

from autograd_conformance.programs.own_numpy import np

FLOATS = frozenset({np.dtype("float32"), np.dtype("float64")})
"""The dtypes that float64 holds every number of."""


def is_equal(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays have one shape and the same elements, whatever their dtypes; NaN is the same as NaN.

    `np.array_equal` takes ten times as long as comparing the bytes of a few elements, and is asked only where they
    differ, as those of the two zeros do.
    """
    if one.shape != other.shape:
        return False
    left, right = one, other
    if one.dtype != other.dtype and one.dtype in FLOATS and other.dtype in FLOATS:
        left, right = one.astype(np.float64), other.astype(np.float64)
    alike = left.dtype == right.dtype and left.tobytes() == right.tobytes()
    return alike or np.array_equal(one, other, equal_nan=True)
