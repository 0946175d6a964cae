"""Restores what a framework may change in its process and the suite needs: the current folder, the standard files, and
NumPy's treatment of floating-point errors.

A framework runs in the process that judges it. If it changes the current folder, the worker processes that start later
do not find the suite; if it closes a standard file, pytest cannot write; and if it makes NumPy raise, the judge fails
where a number overflows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from autograd_conformance.programs.own_numpy import np

STANDARD = (0, 1, 2)
"""Descriptors of standard input, output and error."""

_SECOND: dict[int, int] = {}
"""For each standard file that was open before a framework was loaded, a second descriptor of it."""


@contextmanager
def restored() -> Iterator[None]:
    """Restores, when the block with a call of the framework ends, the current folder and NumPy's treatment of errors
    from before the block, and opens the standard files again.

    A standard file is opened again only if it was closed.
    """
    folder, errors = _folder(), np.geterr()
    if not _SECOND:
        for number in STANDARD:
            with suppress(OSError):
                _SECOND[number] = os.dup(number)
    try:
        yield
    finally:
        if folder is not None and _folder() != folder:
            with suppress(OSError):
                os.chdir(folder)
        for number, second in _SECOND.items():
            _reopen(number, second)
        np.seterr(**errors)


def _folder() -> str | None:
    """Returns the current folder, or None if it does not exist any more."""
    try:
        return os.getcwd()
    except OSError:
        return None


def _reopen(number: int, second: int) -> None:
    """Opens a standard file again if it is closed, unless its second descriptor is closed, too."""
    try:
        os.fstat(number)
    except OSError:
        with suppress(OSError):
            os.dup2(second, number)
