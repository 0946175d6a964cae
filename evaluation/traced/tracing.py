"""Traces functions by the text of their keys."""

from __future__ import annotations

from typing import Any

from autograd_conformance.reference.staging import traced
from autograd_conformance.reference.staging.derivatives import forward_source, vjp_source
from autograd_conformance.reference.staging.source import Source
from autograd_conformance.reference.staging.vjp import Vjp

SOURCES = {"forward": forward_source, "vjp": vjp_source}
"""The functions that trace, by kind."""

NAMES = {"Vjp": Vjp, "inf": float("inf"), "nan": float("nan")}
"""The names in the text of a key."""


def key_of(text: str) -> tuple[Any, ...]:
    """Returns the key of a function from its text."""
    return eval(text, NAMES)


def made(keys: list[str]) -> dict[str, Source]:
    """Traces the functions with some keys; those that cannot be in the file are left out."""
    found = {}
    for key in keys:
        kind, *about = key_of(key)
        source = SOURCES[kind](*about)
        if traced.is_kept(source):
            found[key] = source
    return found
