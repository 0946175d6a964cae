"""The terms that records share: levels, verdicts, sources, and which fields came later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Level = Literal["MUST", "SHOULD", "INFO"]
Wrong = Literal["fail", "crash", "timeout", "flaky"]
Outcome = Literal[
    "pass",
    "fail",
    "known difference",
    "not applicable",
    "crash",
    "timeout",
    "flaky",
    "error",
    "cut short",
    "adapter bug",
    "cannot be told",
]

WRONG: tuple[Wrong, ...] = get_args(Wrong)
"""The verdicts that speak against a framework, worst first."""

LATER = {"later": True}
"""Marks a field that came after the first form of its record: it is left out of the JSON form where it says nothing."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a rule comes from: a document's title, and the section or address in it."""

    title: str
    where: str
