"""The plan of a run: how many tests it has, and how many of them are about each rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

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

    @classmethod
    def of(cls, rules: Iterable[str], deselected: int) -> Plan:
        """The plan of tests, given the rule of each."""
        return cls(Counter(rules), deselected)

    def to_json(self, rule: str) -> dict[str, Any]:
        """What a test of a rule says of it, as plain data."""
        return {
            "rule": rule,
            "of_rule": self.tests[rule],
            "rules": len(self.tests),
            "tests": sum(self.tests.values()),
            "deselected": self.deselected,
        }
