"""The plan of a run: how many tests it has, how many are about each rule, and whether they are all there are."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from autograd_conformance.places import SUITES

PLAN = "conformance plan"
"""The user property under which every test says what it knows of the plan: whoever collects the tests is, with
pytest-xdist, not who reports on them.
"""


@dataclass(frozen=True)
class Plan:
    """What a run is going to do, as whoever collected its tests knows it."""

    tests: Mapping[str, int]
    """How many tests are about each rule."""
    deselected: int
    """How many tests the options left out."""
    whole: bool = False
    """Whether these are all tests of the suites."""

    @classmethod
    def of(cls, rules: Iterable[str], deselected: int, whole: bool = False) -> Plan:
        """The plan of tests, given the rule of each."""
        return cls(Counter(rules), deselected, whole)

    def to_json(self, rule: str) -> dict[str, Any]:
        """What a test of a rule says of it, as plain data."""
        return {
            "rule": rule,
            "of_rule": self.tests[rule],
            "rules": len(self.tests),
            "tests": sum(self.tests.values()),
            "deselected": self.deselected,
            "whole": self.whole,
        }


@lru_cache(maxsize=1)
def functions() -> frozenset[tuple[str, str]]:
    """Every test function of the suites, with the name of its file: as the files have it, whatever was collected."""
    return frozenset((path.name, name) for path in SUITES.glob("test_*.py") for name in _functions(path))


def _functions(path: Path) -> list[str]:
    found = ast.parse(path.read_text(encoding="utf-8")).body
    return [each.name for each in found if isinstance(each, ast.FunctionDef) and each.name.startswith("test_")]
