"""Selects the known differences that apply to a framework's version, device and platform."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from typing import TypeVar

from packaging.version import InvalidVersion

from autograd_conformance.known_differences.entry import Environment, Known, Spared
from autograd_conformance.known_differences.parts import MalformedKnownDifferences

E = TypeVar("E", Known, Spared)


def applicable(listed: Iterable[E], framework: str, version: str, device: str) -> tuple[E, ...]:
    """Returns the entries that apply to a framework's version and a device on this machine, each once. Raises
    `MalformedKnownDifferences` if an entry names versions, and the framework's own cannot be compared with them.
    """
    here = Environment(version, device, platform.system(), platform.machine())
    found = []
    for entry in listed:
        try:
            found += [entry] if entry.applies(here) else []
        except InvalidVersion:
            named = f"{framework} calls its version {version!r}"
            raise MalformedKnownDifferences(f"{entry.where}: version: {named}, which cannot be compared") from None
    return tuple(dict.fromkeys(found))
