"""The tables of all keys of an entry of known differences, and the names of renamed keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType, ModuleType

from autograd_conformance.known_differences import readers
from autograd_conformance.known_differences.condition import Condition
from autograd_conformance.known_differences.conditions import (
    calls,
    computed,
    instructions,
    outcomes,
    regions,
    subjects,
    writes,
)
from autograd_conformance.programs.hazards import Hazard


@dataclass(frozen=True, slots=True)
class Field:
    """A key of an entry that is no condition."""

    read: Callable[[object], object]
    """A function that converts the TOML value, or raises ValueError or `RefusedEntry`."""
    expects: str
    """Description of valid values, as a part of a message: "the name of a rule"."""


def _conditions(module: ModuleType) -> Iterator[type[Condition]]:
    """Yields the conditions that a module defines, in its order."""
    for each in vars(module).values():
        if isinstance(each, type) and issubclass(each, Condition) and each.key and each.__module__ == module.__name__:
            yield each


CONDITIONS: Mapping[str, type[Condition]] = MappingProxyType(
    {
        each.key: each
        for module in (outcomes, subjects, instructions, calls, writes, regions, computed)
        for each in _conditions(module)
    }
)
"""The class of each condition by its key, the cheap ones first."""

LIMITS: Mapping[str, Field] = {
    "relative": Field(readers.limit, "a finite number, 0 or more"),
    "absolute": Field(readers.limit, "a finite number, 0 or more"),
    "nan": Field(readers.flag, "true or false"),
    "any_value": Field(readers.flag, "true or false"),
}
"""The keys that limit how far values may be off, each with its reader and a description of valid values."""

FIELDS: Mapping[str, Field] = {
    "rule": Field(readers.rule, "the name of a rule"),
    "reason": Field(readers.text, "a text"),
    "witness": Field(readers.witness, "a program in the notation of programs/formats/text.py"),
    "link": Field(readers.link, f"an address that begins with https://, or {readers.NOT_REPORTED!r}"),
    "since": Field(readers.day, "a day, such as 2026-11-22"),
    "version": Field(readers.versions, "versions of the framework, such as '>=2.12,<2.14'"),
    "device": Field(readers.devices, "a device, such as 'cpu', or a list of devices"),
    "platform": Field(readers.text, "an operating system or a processor, such as 'Linux' or 'x86_64'"),
    "left_out": Field(readers.flag, "true or false"),
}
"""The keys of an entry that are neither conditions nor limits, such as `reason`."""

KEYS: Mapping[str, Field | type[Condition]] = {**FIELDS, **LIMITS, **CONDITIONS}
"""All keys of an entry, by name: how each is read, and a description of valid values."""

SPARED: Mapping[str, Field] = {
    "situation": Field(readers.hazard, f"a situation: {', '.join(hazard.value for hazard in Hazard)}"),
    **{key: FIELDS[key] for key in ("reason", "witness", "link", "since", "version", "device", "platform")},
}
"""The keys of an entry of the table `spared`, each with its reader and a description of valid values."""

SPARED_ALWAYS = ("situation", "reason", "witness")
"""Keys that every entry of the table `spared` must have."""

RENAMED: Mapping[str, str] = {each.old_key: key for key, each in CONDITIONS.items() if each.old_key is not None}
"""Maps the old name of a condition's key in files of known differences to its present name. Files may use the old
names for ever; the module `file` reads both.
"""

ALWAYS = ("rule", "reason", "witness")
"""Keys that every entry must have."""
