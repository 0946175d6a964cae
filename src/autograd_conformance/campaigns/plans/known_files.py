"""Reads the files of known differences that a plan names, because workers receive files as text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from autograd_conformance.campaigns.plans.table import MalformedPlan
from autograd_conformance.campaigns.shards.texts import Texts


def known_texts(paths: Sequence[Path], where: str) -> tuple[Texts, Texts]:
    """Returns the texts of files of known differences, and of the files that these include. `where` starts the messages
    of errors.
    """
    if not paths:
        return (), ()
    from autograd_conformance.known_differences import (  # imported here, as they import JAX
        MalformedKnownDifferences,
        own_files,
        read,
    )

    try:
        entries = [entry for path in paths for entry in read(path)]
        files = {file.resolve(): file for path in paths for file in own_files(path)}
    except MalformedKnownDifferences as error:
        raise MalformedPlan(f"{where}: known: {error}") from None
    places = {*files, *(Path(entry.where).resolve() for entry in entries)}  # including files of the suite
    if len({place.name for place in places}) < len(places):
        raise MalformedPlan(f"{where}: known: two files have the same name")
    texts = {place: (file.name, file.read_text(encoding="utf-8")) for place, file in files.items()}
    named = [path.resolve() for path in paths]
    return tuple(texts.pop(place) for place in dict.fromkeys(named)), tuple(texts.values())
