"""Order of a framework's versions: 1.9 before 1.10, a release candidate before its release."""

from __future__ import annotations

import re

from packaging.version import InvalidVersion, Version

Place = tuple[bool, Version, tuple[tuple[int, str], ...]]
"""Sort key of a framework's version."""

_NONE = Version("0")


def place(version: str) -> Place:
    """Returns the sort key of a framework's version. Versions of Python's form (``2.1rc1``) come first; others are
    compared by the numbers and words in them.
    """
    try:
        return False, Version(version), ()
    except InvalidVersion:
        parts = re.findall(r"\d+|\D+", version)
        return True, _NONE, tuple((int(part), "") if part.isdecimal() else (-1, part) for part in parts)
