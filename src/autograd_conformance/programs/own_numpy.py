"""NumPy as it was when the suite was loaded: `from autograd_conformance.programs.own_numpy import np`.

A framework runs in the process that judges it, and may rebind what NumPy's modules name: `np.abs = ...`. Whatever
computes or compares here therefore looks its functions up in copies of these modules, which nobody else holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING

import numpy

PARTS = ("linalg", "random")
"""The modules of NumPy, beside itself, whose functions are used."""


def copied(module: ModuleType) -> ModuleType:
    """A module with the same names, which keep what they name when the other's are rebound."""
    copy = ModuleType(module.__name__, module.__doc__)
    copy.__dict__.update(module.__dict__)
    return copy


def _own() -> ModuleType:
    own = copied(numpy)
    for name in PARTS:
        setattr(own, name, copied(getattr(numpy, name)))
    return own


MOST = 5
"""How many functions that were rebound are named."""


def rebound_note() -> str:
    """The end of a sentence on what goes wrong: that NumPy's functions were rebound, where they were."""
    names = rebound()
    return f"; the framework has rebound {', '.join(names[:MOST])}" if names else ""


def rebound() -> Sequence[str]:
    """The functions of NumPy that are others now than when the suite was loaded, each as "np.abs"."""
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
