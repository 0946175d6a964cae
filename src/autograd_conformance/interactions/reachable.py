"""Reachable interactions: the pairs and triples of facts that ever met in a drawn program, by the capabilities that
they need. A run is measured against those that its framework's claims allow.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).with_name("reachable.json")
"""The file of the reachable interactions, which `python -m evaluation.recorded` makes."""

Sets = Sequence[Sequence[int]]
"""Sets of facts, each as increasing positions in a list of facts."""


class Reachable(NamedTuple):
    """The reachable interactions."""

    facts: dict[str, frozenset[str]]
    """The facts, each with the names of the capabilities that every program needs in which it holds."""
    meetings: Sets
    """The sets of facts that held together, without those that another one contains."""

    def allowed(self, claims: Collection[str]) -> Reachable:
        """Returns the interactions that a framework allows which claims these capabilities."""
        kept = [needs <= {*claims} for needs in self.facts.values()]
        left = {tuple(at for at in meeting if kept[at]) for meeting in self.meetings}
        return Reachable(self.facts, tuple(left))


@lru_cache(maxsize=1)
def reachable() -> Reachable:
    """Returns the reachable interactions."""
    form = json.loads(FILE.read_text(encoding="utf-8"))
    return Reachable({fact: frozenset(needs) for fact, needs in form["facts"].items()}, form["meetings"])


def write(found: Reachable) -> None:
    """Writes the file of the reachable interactions."""
    facts = {fact: sorted(needs) for fact, needs in found.facts.items()}
    form = {"facts": facts, "meetings": [list(each) for each in found.meetings]}
    FILE.write_text(json.dumps(form, separators=(",", ":")) + "\n", encoding="utf-8")


class Met(NamedTuple):
    """The pairs and triples of numbered facts that held together, as the bits of integers: for each fact, or pair of
    facts, those after it that held together with it.
    """

    pairs: dict[int, int]
    triples: dict[tuple[int, int], int]

    @classmethod
    def of(cls, meetings: Iterable[Sequence[int]]) -> Met:
        """Returns the interactions of sets of facts, each given in increasing order."""
        pairs: dict[int, int] = {}
        triples: dict[tuple[int, int], int] = {}
        for meeting in meetings:
            later, mask = {}, 0
            for at in reversed(meeting):
                later[at] = mask
                mask |= 1 << at
            for at, others in later.items():
                pairs[at] = pairs.get(at, 0) | others
            for first, second in combinations(meeting, 2):
                triples[first, second] = triples.get((first, second), 0) | later[second]
        return cls(pairs, triples)

    @property
    def counts(self) -> tuple[int, int]:
        """The numbers of pairs and of triples."""
        return _bits(self.pairs.values()), _bits(self.triples.values())

    def within(self, other: Met) -> Met:
        """Returns the interactions that both have."""
        return Met(
            {at: mask & other.pairs.get(at, 0) for at, mask in self.pairs.items()},
            {pair: mask & other.triples.get(pair, 0) for pair, mask in self.triples.items()},
        )


def _bits(masks: Iterable[int]) -> int:
    return sum(mask.bit_count() for mask in masks)
