"""Where the suite lies, in a checkout or where it was installed, and where it keeps what it can make again."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
"""The folder of the package."""

SUITES = PACKAGE / "suites"
"""The tests that are run against a framework."""


def caches() -> Path:
    """The suite's folder in the user's caches, which the environment may have put elsewhere."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "autograd-conformance"
