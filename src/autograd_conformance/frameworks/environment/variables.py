"""Environment variables that change what a framework does."""

from __future__ import annotations

import os
from collections.abc import Sequence

from autograd_conformance.programs.foreign.text import harmless

PLACES = ("_CACHE", "_DIR", "_FILE", "_HOME", "_PATH")
"""How the names of those end that only say where something lies, which is nobody else's business."""


def of(beginnings: Sequence[str]) -> dict[str, str]:
    """Those that are set and whose names begin so, with their values; none that says where something lies."""
    found = sorted(name for name in os.environ if name.startswith(tuple(beginnings)) and not name.endswith(PLACES))
    return {harmless(name): harmless(os.environ[name]) for name in found}
