"""Where the suite, and frameworks that it drives, keep what can be made again: in the user's caches."""

from __future__ import annotations

import os
from pathlib import Path


def caches() -> Path:
    """The suite's folder in the user's caches, which the environment may have put elsewhere."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "autograd-conformance"


def compiled(compiler: str, version: str) -> Path:
    """The folder for what a version of a compiler made of programs, which the next run would have to compile again."""
    return caches() / compiler / version
