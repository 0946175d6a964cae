"""Files of known differences that a plan names, read for the workers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from autograd_conformance.campaigns.plans.table import MalformedPlan
from autograd_conformance.campaigns.shards.texts import Texts


def known_texts(paths: Sequence[Path], where: str) -> tuple[Texts, Texts]:
    """Files of known differences as they are, and those that they include; `where` is said of what is wrong in them."""
    if not paths:
        return (), ()
    from autograd_conformance.known_differences import (  # here: they bring JAX along
        MalformedKnownDifferences,
        own_files,
        read,
    )

    try:
        entries = [entry for path in paths for entry in read(path)]
        files = {file.resolve(): file for path in paths for file in own_files(path)}
    except MalformedKnownDifferences as error:
        raise MalformedPlan(f"{where}: known: {error}") from None
    places = {*files, *(Path(entry.where).resolve() for entry in entries)}  # also those that come with the suite
    if len({place.name for place in places}) < len(places):
        raise MalformedPlan(f"{where}: known: two files have one name")
    texts = {place: (file.name, file.read_text(encoding="utf-8")) for place, file in files.items()}
    named = [path.resolve() for path in paths]
    return tuple(texts.pop(place) for place in dict.fromkeys(named)), tuple(texts.values())
