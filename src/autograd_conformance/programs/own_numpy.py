"""A private copy of NumPy's namespace: `from autograd_conformance.programs.own_numpy import np`.

A framework runs in the process that judges it, and may rebind names of NumPy's modules: `np.abs = ...`. All
computations and comparisons of the suite therefore use copies of these modules, made when the suite was loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import numpy

PARTS = ("linalg", "random")
"""The submodules of NumPy whose functions are used."""


def copied(module: ModuleType) -> ModuleType:
    """Returns a copy of a module's namespace, which does not change when names of the original are rebound."""
    copy = ModuleType(module.__name__, module.__doc__)
    copy.__dict__.update(module.__dict__)
    return copy


def _own() -> ModuleType:
    own = copied(numpy)
    for name in PARTS:
        setattr(own, name, copied(getattr(numpy, name)))
    return own


MOST = 5
"""The most rebound functions that a message names."""


def rebound_note() -> str:
    """Returns a clause for the end of an error message that names rebound NumPy functions; empty if none
    was rebound.
    """
    names = rebound()
    return f"; the framework has rebound {', '.join(names[:MOST])}" if names else ""


def rebound() -> Sequence[str]:
    """Returns the NumPy functions that were rebound since the suite was loaded, each as "np.abs"."""
    pairs = [("np", numpy, np), *((f"np.{part}", getattr(numpy, part), getattr(np, part)) for part in PARTS)]
    return [
        f"{where}.{name}"
        for where, theirs, ours in pairs
        for name, value in vars(ours).items()
        if name not in PARTS and callable(value) and getattr(theirs, name, None) is not value
    ]


if TYPE_CHECKING:
    import numpy as np
else:
    np = _own()
