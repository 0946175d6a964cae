"""Validation of the arrays in which a framework's tensors are returned: plain NumPy arrays of the named dtype.

Adapters return arrays within this process, and servers send them over the wire; both use `numbers`.
"""

from __future__ import annotations

import re
from numbers import Real
from typing import Any

from autograd_conformance.programs.own_numpy import np

NAMES = {
    name: np.dtype(name)
    for name in (
        "float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8",
        "bool", "complex128", "complex64",
    )
}  # fmt: skip
"""NumPy's numeric dtypes, by name."""

for _wide in ("longdouble", "clongdouble"):
    NAMES.setdefault(np.dtype(_wide).name, np.dtype(_wide))

KINDS = frozenset("fciub")
"""The kinds of numeric dtypes, as one letter each in `dtype.kind`: ``f`` for floats."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")


class InvalidArray(ValueError):
    """A value is not a numeric array of the named dtype; the message describes what is required."""


class InvalidDtype(ValueError):
    """A text is not the name of a dtype; the message describes what is required."""


def dtype_of(name: str) -> np.dtype | None:
    """Returns NumPy's dtype of a name; None if the name is valid but NumPy has no such dtype, as "bfloat16", or if its
    elements are Python objects, which a framework may compute with.
    """
    found = NAMES.get(name)
    if found is not None:
        return found
    if not _NAME.fullmatch(name):
        raise InvalidDtype(f"{name!r} is not the name of a dtype, like 'float64' or 'bfloat16'")
    try:
        found = np.dtype(name)
    except TypeError:
        return None
    if found.name != name:
        raise InvalidDtype(f"{name!r} is a short name; that dtype is called {found.name!r}")
    if found.kind not in KINDS | {"O"} and found.type.__module__ == "numpy":
        raise InvalidDtype(f"{name!r} is not a numeric dtype")
    return None


def numbers(got: Any, name: str) -> np.ndarray:
    """Returns the value as an array of the named dtype in native byte order. If NumPy lacks the dtype, the array has
    another numeric dtype that NumPy has. Raises `InvalidArray` or `InvalidDtype`, which describe the problem.
    """
    expected = dtype_of(name)
    array = np.asarray(got) if isinstance(got, np.generic) else got
    if type(array) is not np.ndarray:
        raise InvalidArray(f"a plain NumPy array of {name}")
    if expected is None:
        return _foreign(array, name)
    if array.dtype.name != expected.name:
        raise InvalidArray(f"an array of {name}, as dtype() says")
    return array if array.dtype.isnative else array.astype(expected)


def _foreign(array: np.ndarray, name: str) -> np.ndarray:
    """Returns an array that represents a dtype NumPy lacks, or that of Python objects: a numeric array is returned
    as it is, and one of the dtype itself is converted to float64.
    """
    if array.dtype.kind in KINDS:
        return array
    are_numbers = array.dtype.kind != "O" or all(isinstance(each, Real) for each in array.flat)
    if array.dtype.name != name or not are_numbers:
        raise InvalidArray(f"an array of numbers, which hold the elements of a tensor of {name}")
    return array.astype(np.float64)
