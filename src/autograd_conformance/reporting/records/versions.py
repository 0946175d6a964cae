"""Order of a framework's versions: 1.9 before 1.10, a release candidate before its release."""

from __future__ import annotations

import re

from packaging.version import InvalidVersion, Version

Place = tuple[bool, Version, tuple[tuple[int, str], ...]]
"""Sort key of a version."""

_NONE = Version("0")


def place(version: str) -> Place:
    """Sort key of a version. Versions of Python's form come first; others are compared by their numbers and words."""
    try:
        return False, Version(version), ()
    except InvalidVersion:
        parts = re.findall(r"\d+|\D+", version)
        return True, _NONE, tuple((int(part), "") if part.isdecimal() else (-1, part) for part in parts)
