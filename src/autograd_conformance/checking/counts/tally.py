"""Counts that tests send to the controlling process beside their records.

A tally is not a record and is never written to the report. At the end of the run, the sum of all tallies becomes
records: the claims of articles, the number of times that each known difference occurred, the coverage of each op, and
the framework's choices among allowed outcomes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autograd_conformance.checking.counts.coverage import Pair
from autograd_conformance.checking.counts.remarks import Remarks
from autograd_conformance.interactions.meetings import Meeting
from autograd_conformance.known_differences.clauses import Clause
from autograd_conformance.known_differences.update import Finding, common_to_both, joined
from autograd_conformance.reporting.analysis.interactions import interactions_of
from autograd_conformance.reporting.records.failure import Allowed
from autograd_conformance.reporting.records.records import Behaviour, Coverage, CoverageSetting, Interactions
from autograd_conformance.rules.judge.choices import Choice


@dataclass(slots=True)
class Tally:
    """The counts of one test, or the sum for all tests so far."""

    articles: dict[str, str] = field(default_factory=dict)
    """The result of each tested claim that an article makes about autograd, by the claim's key."""
    differences: Counter[int] = field(default_factory=Counter)
    """Number of programs that showed each known difference, by the difference's position in the list of those that
    apply.
    """
    pairs: Counter[Pair] = field(default_factory=Counter)
    """Number of programs in which each pair of an op and a later instruction of another kind, such as backward,
    occurred.
    """
    ended: Counter[int] = field(default_factory=Counter)
    """Number of programs whose judging a known difference ended early, by the difference's position in that list."""
    findings: list[Finding] = field(default_factory=list)
    """With `--update-known`, the violations that become known differences."""
    choices: Counter[Choice] = field(default_factory=Counter)
    """Number of times that the framework chose each outcome where the rules allow several."""
    remarks: Remarks = field(default_factory=Remarks)
    """Remarks for the adapter's author, such as errors that the adapter cannot classify."""
    meetings: set[Meeting] = field(default_factory=set)
    """The sets of facts that held together in a program, without those that an earlier test of the process reported."""
    common: dict[str, frozenset[Clause]] = field(default_factory=dict)
    """For each rule, the clauses (a key of a known difference and its value, such as `("makes_view", True)`) that are
    true of all programs that kept the rule; only with `--update-known`.
    """

    def add(self, other: Tally) -> None:
        """Adds the counts of another test."""
        self.articles.update(other.articles)
        self.differences.update(other.differences)
        self.pairs.update(other.pairs)
        self.ended.update(other.ended)
        self.findings = joined([*self.findings, *other.findings])
        self.choices.update(other.choices)
        self.remarks.add(other.remarks)
        self.meetings |= other.meetings
        self.common = common_to_both(self.common, other.common)

    def coverage(self) -> Iterator[Coverage]:
        """Yields a record for each op, ordered by name: in how many programs each instruction of another kind, such as
        backward, followed it, by dtype and grad mode.
        """
        found: dict[str, dict[tuple[str, bool], dict[str, int]]] = {}
        for each, count in sorted(self.pairs.items()):
            found.setdefault(each.op, {}).setdefault((each.dtype, each.recorded), {})[each.action] = count
        for op, settings in found.items():
            yield Coverage(
                op=op, met=tuple(CoverageSetting(*setting, actions) for setting, actions in settings.items())
            )

    def behaviours(self) -> Iterator[Behaviour]:
        """Yields a record for each place where the rules allow several outcomes, with the number of times that the
        framework chose each, ordered by the name of the instruction.
        """
        found: dict[tuple[str, tuple[tuple[str, str], ...]], dict[str, int]] = {}
        for each, count in sorted(self.choices.items()):
            found.setdefault((each.instruction, each.allowed), {})[each.chosen] = count
        for (instruction, allowed), counts in found.items():
            yield Behaviour(instruction=instruction, allowed=tuple(Allowed(*each) for each in allowed), seen=counts)

    def interactions(self) -> Interactions | None:
        """Returns the record of the facts that held together; None if no program was counted."""
        return interactions_of(self.meetings) if self.meetings else None

    def to_json(self) -> dict[str, Any]:
        """Returns the counts as JSON data, which pytest-xdist can send to another process."""
        return {
            "articles": self.articles,
            "differences": list(self.differences.items()),
            "pairs": [[*pair, count] for pair, count in self.pairs.items()],
            "ended": list(self.ended.items()),
            "findings": [each.to_json() for each in self.findings],
            "choices": [[*each, count] for each, count in self.choices.items()],
            "remarks": self.remarks.to_json(),
            "meetings": sorted(sorted(each) for each in self.meetings),
            "common": {rule: [list(each) for each in sorted(shared, key=repr)] for rule, shared in self.common.items()},
        }

    @classmethod
    def from_json(cls, form: Mapping[str, Any]) -> Tally:
        """Returns the counts that `to_json` of another process made."""
        return cls(
            dict(form["articles"]),
            Counter(dict(form["differences"])),
            Counter({Pair(*pair): count for *pair, count in form["pairs"]}),
            Counter(dict(form["ended"])),
            [Finding.from_json(each) for each in form["findings"]],
            Counter({_choice(*each): count for *each, count in form["choices"]}),
            Remarks.from_json(form["remarks"]),
            set(map(frozenset, form["meetings"])),
            {rule: frozenset((key, value) for key, value in clauses) for rule, clauses in form["common"].items()},
        )


def _choice(instruction: str, allowed: Iterable[Sequence[str]], chosen: str) -> Choice:
    return Choice(instruction, tuple((outcome, rule) for outcome, rule in allowed), chosen)
