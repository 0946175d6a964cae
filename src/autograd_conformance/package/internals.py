"""Private names of libraries: if a new version of a library no longer has one, the suite names it in one line.

Two files use private names: `strategies/building/hypothesis_internals.py` and `plugin/pytest_internals.py`.
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
    """A private name of a library."""

    library: str
    """Name of the library, as pip writes it."""
    name: str
    """The private name, as a reader would search for it in the library's code."""
    file: str
    """The file of the suite that uses it."""
    is_there: Callable[[], bool]
    """Whether the installed version has the name. An exception means that it has not."""

    def problem(self) -> str | None:
        """One line that says what is missing; None if nothing is."""
        with suppress(Exception):
            if self.is_there():
                return None
        return f"{self.library} {version(self.library)} no longer has {self.name}: see {self.file}"


def problems(internals: Iterable[Internal]) -> list[str]:
    """One line for each private name that is missing."""
    return [problem for each in internals if (problem := each.problem()) is not None]


def accepts(function: Callable[..., Any], *parameters: str) -> bool:
    """Whether a function has all these parameters."""
    return signature(function).parameters.keys() >= set(parameters)


def assigns(function: Any, attribute: str) -> bool:
    """Whether the code of a function reads or assigns an attribute of this name, such as one that only objects have."""
    return attribute in function.__code__.co_names
