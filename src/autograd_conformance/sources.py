"""The suite's own source as a digest: two machines, or two days, with one digest run the same suite."""

from __future__ import annotations

import hashlib
import importlib.metadata
from functools import lru_cache

from autograd_conformance.places import PACKAGE

SUITE_VERSION = importlib.metadata.version("autograd-conformance")
"""The version of the suite itself, which stands in `pyproject.toml` alone."""

ROOMS = (
    "programs", "ops", "reference", "printing", "tape", "rules", "strategies", "frameworks", "adapters",
    "known_differences", "checking", "failures", "plugin", "suites",
)  # fmt: skip
"""The folders of the suite that decide what is drawn, run and judged."""


@lru_cache
def digest(*folders: str, ends: tuple[str, ...] = (".py",)) -> str:
    """A digest of the files in some folders of the suite whose names end so."""
    hasher = hashlib.sha256()
    for source in sorted(path for name in folders for end in ends for path in (PACKAGE / name).glob(f"**/*{end}")):
        hasher.update(source.read_bytes())
    return hasher.hexdigest()


def suite() -> str:
    """A digest of all that decides what is drawn, run and judged, known differences among it."""
    return digest(*ROOMS, ends=(".py", ".toml"))
