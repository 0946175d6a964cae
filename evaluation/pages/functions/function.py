"""A function of a framework, and the reasons why no op calls some of them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Function:
    """A function, the ops that call it, and the reason why there are none."""

    name: str
    ops: tuple[str, ...]
    why: str = ""


@dataclass(frozen=True)
class Notes:
    """Notes about the functions of a framework, from a TOML file of this folder."""

    reasons: Mapping[str, str]
    """The reason why no op calls a function, by the function's name."""
    without: frozenset[str]
    """The reasons of functions that have no derivative."""
    not_called: frozenset[str]
    """The reasons of functions with effects on files, options or devices, which no call is tried for."""
    calls: Mapping[str, str]
    """The code of a call that differentiates a function, by the function's name; `f` is the function."""

    @classmethod
    def of(cls, framework: str) -> Notes:
        """Read the file of a framework."""
        read = tomllib.loads(Path(__file__).with_name(f"{framework}.toml").read_text(encoding="utf-8"))
        rows = read["reason"]
        return cls(
            {name: row["text"] for row in rows for name in row["names"].split()},
            frozenset(row["text"] for row in rows if row.get("without_derivative", False)),
            frozenset(row["text"] for row in rows if row.get("not_called", False)),
            read.get("calls", {}),
        )


def grouped(functions: Sequence[Function], reasons: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """The names of the functions that no op calls, by reason, in the order of `reasons`."""
    return {why: [each.name for each in functions if each.why == why] for why in reasons}
