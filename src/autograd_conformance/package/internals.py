"""Checks for private names of libraries: if a new version of a library no longer has a name that the suite uses, one
line says which and where.

Private names of Hypothesis are checked, which only `strategies/building/randomness/hypothesis_internals.py` uses, and
those of pytest, pytest-xdist and execnet, which only `plugin/pytest_internals.py` uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from inspect import signature
from typing import Any


@dataclass(frozen=True, slots=True)
class Internal:
    """A private name of a library that the suite uses, with a check that the installed version has it."""

    library: str
    """Name of the library, as pip writes it."""
    name: str
    """The private name, such as "SomeClass._attribute", as a reader would search for it in the library's code."""
    file: str
    """Path of the file of the suite that uses the name."""
    is_there: Callable[[], bool]
    """Returns whether the installed version has the name. An exception means that it has not."""

    def problem(self) -> str | None:
        """Returns one line that says which name is missing and which file uses it; None if the library has the name."""
        with suppress(Exception):
            if self.is_there():
                return None
        return f"{self.library} {version(self.library)} no longer has {self.name}: see {self.file}"


def problems(internals: Iterable[Internal]) -> list[str]:
    """Returns one line for each private name that the installed libraries do not have."""
    return [problem for each in internals if (problem := each.problem()) is not None]


def accepts(function: Callable[..., Any], *parameters: str) -> bool:
    """Returns whether a function has all these parameters."""
    return signature(function).parameters.keys() >= set(parameters)


def assigns(function: Any, attribute: str) -> bool:
    """Returns whether the code of a function reads or assigns an attribute of this name, such as one that exists only
    in objects and not in their class.
    """
    return attribute in function.__code__.co_names
