"""Frameworks by name: entry points of the group `autograd_conformance.adapters`, in any installed package.

A package offers an adapter with two lines of its `pyproject.toml`:

    [project.entry-points."autograd_conformance.adapters"]
    myframework = "my_package.adapter:MyFramework"

Its known differences are read from `known/myframework.toml` beside that module.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, entry_points, requires
from importlib.util import find_spec
from pathlib import Path

GROUP = "autograd_conformance.adapters"
"""The group of entry points in which packages register adapters."""

OURS = "autograd-conformance"
"""The distribution that has the suite's own adapters; its adapters win over those of the same name in other
distributions.
"""

SERVED = "AUTOGRAD_CONFORMANCE_ADAPTER"
"""The environment variable that hands an adapter's entry to a worker whose interpreter has no metadata of the suite."""


@dataclass(frozen=True)
class Entry:
    """An adapter that an installed package offers."""

    name: str
    factory: str
    """`module:attribute` of the function that makes the adapter."""
    package: str
    """The installed distribution that offers the adapter."""
    served_install: str = ""
    """The value of `install` in the process that started this worker; empty outside of workers."""

    @property
    def install(self) -> str:
        """The arguments of `pip install` that install the framework, such as ``torch>=2.6``; empty if the distribution
        does not say.
        """
        whole, family = self.name, self.name.partition("-")[0]  # modes of PyTorch share its extra
        return self.served_install or _requirements(self.package, whole) or _requirements(self.package, family)

    @property
    def is_ours(self) -> bool:
        """Whether the adapter comes with the suite."""
        return self.package == OURS


LIKE = {
    "torch-like": Entry("torch-like", "autograd_conformance.frameworks.torchlike.adapter:TorchLike", OURS),
    "numpy-like": Entry("numpy-like", "autograd_conformance.frameworks.numpylike.adapter:NumpyLike", OURS),
}
"""Adapters of any module with a known interface, which the user names: ``torch-like:candle``."""


def entry_of(name: str) -> Entry | None:
    """Returns the entry of a framework's name; None for an adapter of the user, ``package.module:factory``."""
    return LIKE.get(name.partition(":")[0]) or frameworks().get(name)


@cache
def frameworks() -> Mapping[str, Entry]:
    """Returns all adapters by name: the suite's own, PyTorch first, then those of other packages.

    Of two packages that offer the same name, the suite wins, then the one whose name is first in the alphabet.
    """
    found = [_entry(point) for point in entry_points(group=GROUP)]
    found += [Entry(*json.loads(os.environ[SERVED]))] if SERVED in os.environ else []
    found.sort(key=lambda entry: (not entry.is_ours, not entry.name.startswith("torch"), entry.name, entry.package))
    first: dict[str, Entry] = {}
    for entry in found:
        first.setdefault(entry.name, entry)
    return first


def variable(name: str) -> Mapping[str, str]:
    """Returns the environment variable, by its name, that hands a framework's entry to a worker; empty if no package
    offers the framework.
    """
    entry = entry_of(name)
    if entry is None or entry.name in LIKE:
        return {}
    return {SERVED: json.dumps([entry.name, entry.factory, entry.package, entry.install])}


def known_file(name: str) -> Path | None:
    """Returns the path of the file of known differences that a package has beside its adapter, ``known/NAME.toml``;
    None if there is none. For ``torch-like:MODULE``, NAME is the module's.
    """
    entry = entry_of(name)
    if entry is None:
        return None
    if entry.name in LIKE:
        name = name.partition(":")[2].partition("@")[0]
        if not all(part.isidentifier() for part in name.split(".")):
            return None
    package = entry.factory.partition(":")[0].rpartition(".")[0]
    try:
        spec = find_spec(package) if package else None
    except Exception:  # another package's `__init__` is run here; `load` reports what it raises
        return None
    places = (spec.submodule_search_locations if spec is not None else None) or ()
    return next((path for place in places if (path := Path(place, "known", f"{name}.toml")).is_file()), None)


def _entry(point: EntryPoint) -> Entry:
    return Entry(point.name, point.value, _name(point.dist) if point.dist is not None else "")


@cache
def _name(distribution: Distribution) -> str:
    """Returns the name of a distribution; `Distribution.name` parses all of its metadata each time."""
    return distribution.name


def _requirements(package: str, extra: str) -> str:
    """Returns the requirements of a distribution's extra as arguments of a shell, with spaces between them; empty if
    there is no such distribution or extra.
    """
    try:
        lines = requires(package) if package else None
    except PackageNotFoundError:
        return ""
    if not lines:
        return ""
    from packaging.requirements import InvalidRequirement, Requirement  # a worker's interpreter may not have it
    from packaging.specifiers import SpecifierSet

    found = []
    for line in lines:
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue
        marker = requirement.marker
        if marker is not None and marker.evaluate({"extra": extra}) and not marker.evaluate({"extra": ""}):
            versions = sorted(map(str, requirement.specifier), key=lambda each: each.startswith("<"))
            requirement.marker, requirement.specifier = None, SpecifierSet()
            text = f"{requirement}{','.join(versions)}"
            found.append(f"'{text}'" if {"<", ">"} & {*text} else text)  # else a shell reads and writes files
    return " ".join(found)
