"""The versions of a framework that somebody ran the suite with, which the top of its file of known differences names
(`tried = ["2.13.0"]`).
"""

from __future__ import annotations

from pathlib import Path

from packaging.version import InvalidVersion, Version

from autograd_conformance.known_differences.file import tried_versions
from autograd_conformance.rules.prose import joined


def untried(name: str, version: str, path: Path) -> str | None:
    """Returns a sentence for a version of a framework that is not among the tried ones of the file at `path`; None if
    it is, or if the file names none.
    """
    tried = tried_versions(path)
    if not tried or _public(version) in map(_public, tried):
        return None
    return (
        f"nobody has tried the suite with {name} {version} yet; its known differences are those of {joined(tried)}, "
        "and what this version does otherwise is reported as a failure"
    )


def _public(version: str) -> Version | str:
    """Returns a version without the part that distinguishes builds of one version (2.13.0 of 2.13.0+cpu)."""
    try:
        return Version(Version(version).public)
    except InvalidVersion:
        return version
