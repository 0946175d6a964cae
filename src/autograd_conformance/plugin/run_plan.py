"""The plan of a run: the number of its tests, the number for each rule, and whether it has all tests of the suites."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from autograd_conformance.package.places import SUITES

PLAN = "conformance plan"
"""Name of the pytest user property with which every test sends the plan: with pytest-xdist, the process that collects
the tests is not the one that writes the report.
"""


@dataclass(frozen=True)
class Plan:
    """The numbers of tests in a run, as counted by the process that collected them."""

    tests: Mapping[str, int]
    """Number of tests of each rule, by the rule's slug."""
    deselected: int
    """Number of tests that options deselected."""
    whole: bool = False
    """Whether the run has all tests of the suites, so that no rule lacks a test."""

    @classmethod
    def of(cls, rules: Iterable[str], deselected: int, whole: bool = False) -> Plan:
        """Makes the plan of a run, given the rule of each of its tests."""
        return cls(Counter(rules), deselected, whole)

    def to_json(self, rule: str) -> dict[str, Any]:
        """Returns the plan as JSON data, to be sent by a test of this rule."""
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
    """Returns all test functions of the suites, each as a pair of its file's name and its own name, whatever was
    collected.
    """
    return frozenset((path.name, name) for path in SUITES.glob("test_*.py") for name in _functions(path))


def _functions(path: Path) -> list[str]:
    found = ast.parse(path.read_text(encoding="utf-8")).body
    return [each.name for each in found if isinstance(each, ast.FunctionDef) and each.name.startswith("test_")]
