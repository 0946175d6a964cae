"""Validates the attributes of an adapter, before any of its methods is called."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from pathlib import PurePath
from typing import Any

from autograd_conformance.frameworks.adapter import Adapter
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.frameworks.reading.validation import shown
from autograd_conformance.ops.limits import Limit
from autograd_conformance.ops.rows.shapes import FORMS
from autograd_conformance.printing.dialect import Dialect
from autograd_conformance.programs.capabilities import Capability, Traits
from autograd_conformance.programs.dtypes import DTYPES, OF_OPERANDS

LONGEST = 80
"""Maximum number of characters of a name or version."""


NO_PATH = "no path that leads elsewhere"
"""The words with which an error message says what a valid name of a framework is: a file of known differences has the
same name, so that the name must not lead to another folder.
"""


def leads_elsewhere(name: str) -> bool:
    """Whether a name is a path that leaves its folder."""
    return PurePath(name).is_absolute() or ".." in PurePath(name).parts


def check(adapter: Adapter) -> None:
    """Validate all attributes; raises `AdapterError` for the first invalid one."""
    for name in ("name", "version"):
        value = getattr(adapter, name)
        if not isinstance(value, str) or not 0 < len(value) <= LONGEST or not value.isprintable():
            _refuse(adapter, name, f"a str of one line, of 1 to {LONGEST} characters", value)
    if leads_elsewhere(adapter.name):
        _refuse(adapter, "name", NO_PATH, adapter.name)
    _all(adapter, "capabilities", adapter.capabilities, Capability, "members of programs.capabilities.Capability")
    _all(adapter, "ops", adapter.ops, str, "the names of ops, each a str")
    _all(adapter, "dtypes", adapter.dtypes, str, "the names of dtypes, each a str")
    if not isinstance(adapter.dialect, Dialect | None):
        _refuse(adapter, "dialect", "a printing.dialect.Dialect or None", adapter.dialect)
    if not isinstance(adapter.traits, Traits):
        _refuse(adapter, "traits", "a programs.capabilities.Traits", adapter.traits)
    sources, names = adapter.trait_sources, {field.name for field in fields(Traits)}
    if not isinstance(sources, Mapping) or not names.issuperset(sources) or not _texts(sources.values()):
        _refuse(adapter, "trait_sources", f"a mapping of some of {', '.join(sorted(names))} to texts", sources)
    limits = adapter.limits
    if not isinstance(limits, Mapping) or not all(isinstance(each, Limit) for each in limits.values()):
        _refuse(adapter, "limits", "a mapping of names of ops to ops.limits.Limit", limits)
    known = {*DTYPES, OF_OPERANDS}
    if not isinstance(adapter.autocast, Mapping) or not known.issuperset(adapter.autocast.values()):
        _refuse(adapter, "autocast", f"a mapping from names of ops to some of {', '.join(known)}", adapter.autocast)
    _all(adapter, "packages", adapter.packages, str, "the names of modules or packages, each a str")
    there = ("errors", *DTYPES, *FORMS)
    _all(adapter, "insists", adapter.insists, str, f"some of {', '.join(there)}")
    if not {*there}.issuperset(adapter.insists):
        _refuse(adapter, "insists", f"a collection of some of {', '.join(there)}", adapter.insists)
    for name in ("optimizers", "modules", "writes"):
        value = getattr(adapter, name)
        _all(adapter, name, value, str, "names, each a str")
        if isinstance(value, Mapping):
            for settings in value.values():
                _all(adapter, name, settings, str, "names of settings for each name, each a str")


def _texts(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) and value.strip() for value in values)


def _all(adapter: Adapter, name: str, value: Any, wanted: type, words: str) -> None:
    """Check that an attribute is a collection, but not a string, of values of one type."""
    if isinstance(value, str) or not isinstance(value, Collection) or not all(isinstance(v, wanted) for v in value):
        _refuse(adapter, name, f"a collection of {words}", value)


def _refuse(adapter: Adapter, name: str, wanted: str, got: object) -> None:
    who = adapter.name if isinstance(adapter.name, str) else type(adapter).__name__
    raise AdapterError(f"{who[:LONGEST]!r}: {name} has to be {wanted}, not {shown(got)}")
