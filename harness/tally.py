"""The counts that tests send to the controlling process beside their records.

A tally is no record: it never reaches the file. Only when all tests have ended can the sum of their tallies be said as
records: a claim's, once all its programs ran; a known difference's, with how often the run saw it; an op's coverage.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from autograd_conformance.harness.coverage import Pair
from autograd_conformance.harness.known.update import Finding, joined


@dataclass(slots=True)
class Tally:
    """The counts of one test, or of all tests so far."""

    articles: dict[str, str] = field(default_factory=dict)
    """For each claim of an article that was tried, what the framework showed of it."""
    differences: Counter[int] = field(default_factory=Counter)
    """For each known difference, by its number, how often programs showed it."""
    pairs: Counter[Pair] = field(default_factory=Counter)
    """In how many programs each op came before each action."""
    ended: Counter[int] = field(default_factory=Counter)
    """For each known difference, by its number, in how many programs nothing could be judged behind it."""
    findings: list[Finding] = field(default_factory=list)
    """The differences that become known."""

    def add(self, other: Tally) -> None:
        """Add the counts of other tests."""
        self.articles.update(other.articles)
        self.differences.update(other.differences)
        self.pairs.update(other.pairs)
        self.ended.update(other.ended)
        self.findings = joined([*self.findings, *other.findings])

    def to_json(self) -> dict[str, Any]:
        """As plain data, which crosses pytest-xdist."""
        return {
            "articles": self.articles,
            "differences": list(self.differences.items()),
            "pairs": [[*pair, count] for pair, count in self.pairs.items()],
            "ended": list(self.ended.items()),
            "findings": [each.to_json() for each in self.findings],
        }

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Tally:
        """From plain data."""
        return cls(
            dict(form["articles"]),
            Counter(dict(form["differences"])),
            Counter({Pair(*pair): count for *pair, count in form["pairs"]}),
            Counter(dict(form["ended"])),
            [Finding.from_json(each) for each in form["findings"]],
        )
