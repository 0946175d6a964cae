"""The tables of a plan's TOML file, checked for unknown keys and wrong types."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autograd_conformance.frameworks.loading.entry_points import frameworks
from autograd_conformance.frameworks.loading.registry import there_are
from autograd_conformance.reporting.prose import listed


class MalformedPlan(Exception):
    """A plan cannot be run; the message says where it is wrong, and why."""


def read_table(path: Path) -> Mapping[str, Any]:
    """Returns the content of a TOML file. Raises `MalformedPlan` if the file cannot be read."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MalformedPlan(f"{path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise MalformedPlan(f"{path}: not TOML: {error}") from None


class Table:
    """Reads a table of a plan. Its methods return values of the required type, or raise `MalformedPlan`."""

    def __init__(self, form: Mapping[str, Any], where: str, keys: tuple[str, ...]) -> None:
        self.form, self.where = form, where
        unknown = next((key for key in form if key not in keys), None)
        if unknown is not None:
            raise MalformedPlan(f"{where}: unknown key {unknown!r}; there are {listed(keys)}")

    def _malformed(self, key: str, what: str) -> MalformedPlan:
        return MalformedPlan(f"{self.where}: {key} must be {what}, not {self.form.get(key)!r}")

    def number(self, key: str, default: int, least: int = 1) -> int:
        """Returns the whole number under a key; the number must be at least `least`."""
        value = self.form.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self._malformed(key, f"a whole number of at least {least}")
        return value

    def positive(self, key: str) -> float:
        """Returns the number above 0 under a key."""
        value = self.form.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
            raise self._malformed(key, "a number above 0")
        return float(value)

    def text(self, key: str) -> str | None:
        """Returns the text under a key; None if the key is missing."""
        value = self.form.get(key)
        if value is not None and (not isinstance(value, str) or not value):
            raise self._malformed(key, "a text")
        return value

    def texts(self, key: str, default: tuple[str, ...] | None) -> tuple[str, ...]:
        """Returns the list of texts under a key, without repetitions; without a default, the key is required."""
        value = self.form.get(key, default)
        if value is None:
            raise MalformedPlan(f"{self.where}: {key} is missing")
        if not isinstance(value, (list, tuple)) or not all(isinstance(each, str) and each for each in value):
            raise self._malformed(key, "a list of texts")
        if not value and key in self.form:
            raise self._malformed(key, "a list of at least one text")
        return tuple(dict.fromkeys(value))

    def table(self, key: str) -> Mapping[str, Any]:
        """Returns the table under a key; empty if the key is missing."""
        value = self.form.get(key, {})
        if not isinstance(value, dict):
            raise self._malformed(key, "a table")
        return value

    def tables(self, key: str) -> list[Mapping[str, Any]]:
        """Returns the list of tables under a key; empty if the key is missing."""
        value = self.form.get(key, [])
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise MalformedPlan(f"{self.where}: {key} must be written [[{key}]]")
        return value

    def resources(self) -> dict[str, float]:
        """Returns the amount of each resource that a task occupies on a worker: ``{"GPU": 1.0}``."""
        found = self.table("resources")
        for name, value in found.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
                raise MalformedPlan(f"{self.where}: resources: {name} must be a number above 0, not {value!r}")
        return {name: float(value) for name, value in found.items()}

    def framework(self, name: str | None) -> str:
        """Returns the name of a framework, after checking that it is one of the suite's or a path to an adapter."""
        if name is None:
            raise MalformedPlan(f"{self.where}: framework is missing")
        if name not in frameworks() and ":" not in name:
            raise MalformedPlan(
                f"{self.where}: unknown framework {name!r}. {there_are(name)} Your own adapter is named "
                "package.module:factory."
            )
        return name
