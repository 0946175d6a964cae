"""Environment variables that change a framework's behaviour."""

from __future__ import annotations

import os
from collections.abc import Sequence

from autograd_conformance.programs.foreign.text import harmless

PLACES = ("_CACHE", "_DIR", "_FILE", "_HOME", "_PATH")
"""Suffixes of variables that contain only a path. A report omits them, because paths are private."""


def of(beginnings: Sequence[str]) -> dict[str, str]:
    """Returns the variables that are set and have one of the prefixes, with their values; variables with paths are
    omitted.
    """
    found = sorted(name for name in os.environ if name.startswith(tuple(beginnings)) and not name.endswith(PLACES))
    return {harmless(name): harmless(os.environ[name]) for name in found}
