"""Files that go to workers with what they are to run, as text: no folder but the storage is shared with them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from autograd_conformance.campaigns.table import MalformedPlan

Texts = tuple[tuple[str, str], ...]
"""Files, each by its name and what it says."""


def known_texts(paths: Sequence[Path], where: str) -> tuple[Texts, Texts]:
    """Files of known differences as they are, and those that they include; `where` is said of what is wrong in them."""
    if not paths:
        return (), ()
    from autograd_conformance.known_differences import (  # here: they bring JAX along
        MalformedExpectations,
        own_files,
        read,
    )

    try:
        entries = [entry for path in paths for entry in read(path)]
        files = {file.resolve(): file for path in paths for file in own_files(path)}
    except MalformedExpectations as error:
        raise MalformedPlan(f"{where}: known: {error}") from None
    places = {*files, *(Path(entry.where).resolve() for entry in entries)}  # also those that come with the suite
    if len({place.name for place in places}) < len(places):
        raise MalformedPlan(f"{where}: known: two files have one name")
    texts = {place: (file.name, file.read_text(encoding="utf-8")) for place, file in files.items()}
    named = [path.resolve() for path in paths]
    return tuple(texts.pop(place) for place in dict.fromkeys(named)), tuple(texts.values())


def put(texts: Texts, folder: Path) -> None:
    """Write files into a folder."""
    for name, text in texts:
        (folder / name).write_text(text, encoding="utf-8")


def named(title: str, about: Mapping[str, Any]) -> str:
    """A name for a file or a folder: what people look for, and a digest of all that it is about."""
    words = re.sub(r"[^a-z0-9]+", "-", title.casefold()).strip("-")[:60].strip("-")
    return f"{words}-{hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:8]}"
