"""Whether what `read` gives stays as it was read: the framework may write to a tensor, and not to what was read of it.

An array that owns its memory, and that nobody else refers to, is a copy. Of any other the bytes are kept, and compared
when the program has run: memory that never changes, as that of an immutable tensor, does no harm.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount

from autograd_conformance.programs.own_numpy import np

MOST = 1 << 20
"""How many bytes of an array are kept, at most; the tensors of programs are far smaller."""

Snapshot = tuple[np.ndarray, bytes]


def is_copy(got: np.ndarray) -> bool:
    """Whether nobody but the caller, who holds it under one name, can write to an array's memory."""
    base = got.base
    if base is None:
        return getrefcount(got) <= OWN and got.flags.owndata
    return getrefcount(base) <= VIEWED and base.__class__ is np.ndarray and base.flags.owndata


def _references(got: np.ndarray) -> int:
    """How many references `is_copy` counts."""
    base = got.base
    return getrefcount(got if base is None else base)


def _alone(make: Callable[[], np.ndarray]) -> int:
    got = make()
    return _references(got)


OWN, VIEWED = _alone(lambda: np.empty(2)), _alone(lambda: np.empty(2)[:1])
"""How many there are to an array that was made just now, and to one that is seen through another."""


def snapshot(got: np.ndarray) -> Snapshot | None:
    """An array with its bytes, unless these are many."""
    return (got, got.tobytes()) if got.nbytes <= MOST else None


def changed(arrays: list[Snapshot]) -> np.ndarray | None:
    """The first of some arrays that is no longer as it was read."""
    return next((got for got, before in arrays if got.tobytes() != before), None)
