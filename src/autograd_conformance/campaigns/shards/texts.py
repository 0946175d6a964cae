"""Files that go to workers with what they are to run, as text: no folder but the storage is shared with them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Texts = tuple[tuple[str, str], ...]
"""Files, each by its name and what it says."""


def write_files(texts: Texts, folder: Path) -> None:
    """Write files into a folder."""
    for name, text in texts:
        (folder / name).write_text(text, encoding="utf-8")


def digest_name(title: str, about: Mapping[str, Any]) -> str:
    """A name for a file or a folder: what people look for, and a digest of all that it is about."""
    words = re.sub(r"[^a-z0-9]+", "-", title.casefold()).strip("-")[:60].strip("-")
    return f"{words}-{hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:8]}"
