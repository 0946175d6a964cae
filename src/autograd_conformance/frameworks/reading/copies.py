"""Detects whether an array from `read` shares memory with the framework's tensor, and so may change later.

An array that owns its memory and has no other reference is a copy. For other arrays, the reader keeps the bytes and
compares them after the program has run; shared memory that never changes, such as an immutable tensor's, is accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount

from autograd_conformance.programs.own_numpy import np

MOST = 1 << 20
"""Maximum size in bytes of an array whose bytes are kept; tensors of programs are far smaller."""

Snapshot = tuple[np.ndarray, bytes]


def is_copy(got: np.ndarray) -> bool:
    """Whether only the caller, who has a single name for the array, can write to its memory."""
    base = got.base
    if base is None:
        return getrefcount(got) <= OWN and got.flags.owndata
    return getrefcount(base) <= VIEWED and base.__class__ is np.ndarray and base.flags.owndata


def _references(got: np.ndarray) -> int:
    """Returns the reference count that `is_copy` checks."""
    base = got.base
    return getrefcount(got if base is None else base)


def _alone(make: Callable[[], np.ndarray]) -> int:
    got = make()
    return _references(got)


OWN, VIEWED = _alone(lambda: np.empty(2)), _alone(lambda: np.empty(2)[:1])
"""Reference counts of a new array, and of a new array that is accessed through a view."""


def snapshot(got: np.ndarray) -> Snapshot | None:
    """Returns an array with a copy of its bytes; None if it is larger than `MOST`."""
    return (got, got.tobytes()) if got.nbytes <= MOST else None


def changed(arrays: list[Snapshot]) -> np.ndarray | None:
    """Returns the first array whose bytes have changed, or None."""
    return next((got for got, before in arrays if got.tobytes() != before), None)
