"""Computes a digest of the suite's own source. Machines and days with the same digest run the same suite."""

from __future__ import annotations

import hashlib
import importlib.metadata
from functools import lru_cache

from autograd_conformance.package.places import PACKAGE

SUITE_VERSION = importlib.metadata.version("autograd-conformance")
"""Version of the suite, as in `pyproject.toml`."""

ROOMS = (
    "programs", "ops", "reference", "printing", "tape", "rules", "strategies", "frameworks", "adapters",
    "known_differences", "checking", "failures", "plugin", "suites",
)  # fmt: skip
"""Folders of the package whose files affect what is drawn, run and judged."""


@lru_cache
def digest(*folders: str, ends: tuple[str, ...] = (".py",)) -> str:
    """Returns the digest of the files in some folders of the package whose names end with one of `ends`."""
    hasher = hashlib.sha256()
    for source in sorted(path for name in folders for end in ends for path in (PACKAGE / name).glob(f"**/*{end}")):
        hasher.update(source.read_bytes())
    return hasher.hexdigest()


def suite() -> str:
    """Returns the digest of everything that affects what is drawn, run and judged, files of known differences
    included.
    """
    return digest(*ROOMS, ends=(".py", ".toml"))
