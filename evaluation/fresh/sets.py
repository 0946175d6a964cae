"""The sets of fresh faults."""

from __future__ import annotations

import inspect
import pkgutil
from importlib import import_module

from evaluation.fresh import fifth, first, fourth, second, sixth, third
from evaluation.fresh.fault import Fault

SETS = {"first": first, "second": second, "third": third, "fourth": fourth, "fifth": fifth, "sixth": sixth}
"""The sets of faults, by name."""


def faults_of(name: str) -> list[type[Fault]]:
    """The faults of a set, by module and in source order."""
    places = pkgutil.iter_modules(SETS[name].__path__, f"{SETS[name].__name__}.")
    modules = [import_module(place.name) for place in places]
    return [
        made
        for module in modules
        for made in vars(module).values()
        if inspect.isclass(made) and issubclass(made, Fault) and made.__module__ == module.__name__
    ]
