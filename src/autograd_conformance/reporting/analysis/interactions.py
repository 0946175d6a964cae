"""Interactions of a run: the pairs and triples of facts that held together of one instruction and one value.

Most faults of software need one or two conditions at once, fewer need three, and none is known that needs more than six
(Kuhn, Wallace and Gallo, 2004). So these numbers measure what the drawn programs cover.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import combinations
from typing import NamedTuple

from autograd_conformance.reporting.records.records import Interactions, Report


class InteractionCounts(NamedTuple):
    """The number of facts, and how many pairs and triples of them held together."""

    facts: int
    pairs: int
    triples: int


def interaction_counts(report: Report) -> InteractionCounts | None:
    """Returns the numbers of interactions of a run; None if the run recorded none."""
    if report.interactions is None:
        return None
    pairs: dict[int, int] = {}
    triples: dict[tuple[int, int], int] = {}
    for meeting in report.interactions.meetings:
        masks = {at: _later(at, meeting) for at in meeting}
        for at, mask in masks.items():
            pairs[at] = pairs.get(at, 0) | mask
        for first, second in combinations(meeting, 2):
            triples[first, second] = triples.get((first, second), 0) | masks[second]
    return InteractionCounts(len(report.interactions.facts), _bits(pairs.values()), _bits(triples.values()))


def united(each: Iterable[Interactions]) -> Interactions | None:
    """Returns the interactions of several runs together; None if there are none."""
    met = {frozenset(one.facts[at] for at in meeting) for one in each for meeting in one.meetings}
    return interactions_of(met) if met else None


def interactions_of(met: Collection[frozenset[str]]) -> Interactions:
    """Returns the record of sets of facts that held together."""
    facts = tuple(sorted(set().union(*met)))
    number = {fact: at for at, fact in enumerate(facts)}
    numbered = [tuple(sorted(number[fact] for fact in meeting)) for meeting in _maximal(met)]
    return Interactions(facts=facts, meetings=tuple(sorted(numbered)))


def _maximal(met: Collection[frozenset[str]]) -> list[frozenset[str]]:
    """Returns the sets that no other one contains."""
    kept: list[frozenset[str]] = []
    having: dict[str, list[frozenset[str]]] = {}
    for meeting in sorted(met, key=len, reverse=True):
        rarest = min((having.get(fact, []) for fact in meeting), key=len)
        if not any(meeting < other for other in rarest):
            kept.append(meeting)
            for fact in meeting:
                having.setdefault(fact, []).append(meeting)
    return kept


def _later(at: int, meeting: Iterable[int]) -> int:
    """Returns the facts of a meeting after one of them, as bits."""
    return sum(1 << other for other in meeting if other > at)


def _bits(masks: Iterable[int]) -> int:
    return sum(mask.bit_count() for mask in masks)
