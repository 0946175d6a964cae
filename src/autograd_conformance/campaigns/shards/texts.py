"""Files that are sent to workers as text, because workers share nothing but the storage."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Texts = tuple[tuple[str, str], ...]
"""Files, each as its name and its content."""


def write_files(texts: Texts, folder: Path) -> None:
    """Write files into a folder."""
    for name, text in texts:
        (folder / name).write_text(text, encoding="utf-8")


def digest_name(title: str, about: Mapping[str, Any]) -> str:
    """Returns a name for a file or folder: readable words from the title, and a digest of `about`."""
    words = re.sub(r"[^a-z0-9]+", "-", title.casefold()).strip("-")[:60].strip("-")
    return f"{words}-{hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:8]}"
