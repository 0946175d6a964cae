"""What is taken for the elements of a tensor, wherever they come from: a plain array of the very dtype that is named.

An adapter hands arrays over in this process and a server over the wire; both go through `numbers`.
"""

from __future__ import annotations

import re
from typing import Any

from autograd_conformance.programs.own_numpy import np

NAMES = {
    name: np.dtype(name)
    for name in (
        "float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8",
        "bool", "complex128", "complex64",
    )
}  # fmt: skip
"""NumPy's dtypes of numbers, by their names."""

for _wide in ("longdouble", "clongdouble"):
    NAMES.setdefault(np.dtype(_wide).name, np.dtype(_wide))

KINDS = frozenset("fciub")
"""The kinds of dtypes that are numbers."""

_NAME = re.compile(r"[a-z][a-z0-9_]*")


class InvalidArray(ValueError):
    """Something is no array of numbers of the dtype that is named; the message says what it has to be."""


class InvalidDtype(ValueError):
    """A text is no name of a dtype; the message says what it has to be."""


def dtype_of(name: str) -> np.dtype | None:
    """The dtype of NumPy's that has a name; None for the name of one that NumPy lacks, as "bfloat16"."""
    found = NAMES.get(name)
    if found is not None:
        return found
    if not _NAME.fullmatch(name):
        raise InvalidDtype(f"{name!r} is no name of a dtype, like 'float64' or 'bfloat16'")
    try:
        found = np.dtype(name)
    except TypeError:
        return None
    if found.name != name:
        raise InvalidDtype(f"{name!r} is a short name; that dtype is called {found.name!r}")
    if found.kind not in KINDS and found.type.__module__ == "numpy":
        raise InvalidDtype(f"{name!r} is no dtype of numbers")
    return None


def numbers(got: Any, name: str) -> np.ndarray:
    """Something as an array of the dtype that a name says, if it is one: in this machine's order of bytes, and in a
    wider dtype of NumPy's where NumPy lacks the one that is named. `InvalidArray` and `InvalidDtype` say what is wrong.
    """
    due = dtype_of(name)
    array = np.asarray(got) if isinstance(got, np.generic) else got
    if type(array) is not np.ndarray:
        raise InvalidArray(f"a plain NumPy array of {name}")
    if due is None:
        return _foreign(array, name)
    if array.dtype.name != due.name:
        raise InvalidArray(f"an array of {name}, as dtype() says")
    return array if array.dtype.isnative else array.astype(due)


def _foreign(array: np.ndarray, name: str) -> np.ndarray:
    """An array of a dtype that NumPy lacks: one of numbers that can hold its elements, or of its own kind."""
    if array.dtype.kind in KINDS:
        return array
    if array.dtype.name != name:
        raise InvalidArray(f"an array of numbers, which hold the elements of a tensor of {name}")
    return array.astype(np.float64)
