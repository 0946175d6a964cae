"""Folders in the user's cache for files of the suite, and of compilers, that can be recreated."""

from __future__ import annotations

import os
from pathlib import Path


def caches() -> Path:
    """Returns the suite's folder in the user's cache directory; `XDG_CACHE_HOME` overrides its location."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "autograd-conformance"


def compiled(compiler: str, version: str) -> Path:
    """Returns the folder for the output of one version of a compiler, which later runs reuse."""
    return caches() / compiler / version
