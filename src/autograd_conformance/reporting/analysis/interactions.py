"""Interactions of a run: the pairs and triples of facts that held together of one instruction and one value.

Most faults of software need one or two conditions at once, fewer need three, and none is known that needs more than six
(Kuhn, Wallace and Gallo, 2004). So these numbers measure what the drawn programs cover.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import NamedTuple

from autograd_conformance.interactions.reachable import Met, reachable
from autograd_conformance.reporting.records.records import Interactions, Report


class InteractionCounts(NamedTuple):
    """The number of facts of a run, and how many pairs and triples of them held together."""

    facts: int
    pairs: int
    triples: int
    pairs_share: float
    """The part of the reachable pairs that the framework's claims allow; between 0 and 1."""
    triples_share: float
    """The part of the reachable triples that the framework's claims allow; between 0 and 1."""


def interaction_counts(report: Report) -> InteractionCounts | None:
    """Returns the numbers of interactions of a run; None if the run recorded none."""
    if report.interactions is None:
        return None
    return _counts(report.interactions, report.header.framework.capabilities)


@lru_cache(maxsize=1)  # the terminal and the page of a run need them
def _counts(record: Interactions, claims: tuple[str, ...]) -> InteractionCounts:
    allowed = reachable().allowed(claims)
    number = {fact: at for at, fact in enumerate(allowed.facts)}
    own = record.facts
    # facts of another version of the suite are not reachable ones, but count as drawn
    number |= {fact: len(number) + at for at, fact in enumerate(set(own).difference(number))}
    met = Met.of(sorted(number[own[at]] for at in meeting) for meeting in record.meetings)
    possible = Met.of(allowed.meetings)
    (pairs, triples), of = met.within(possible).counts, possible.counts
    return InteractionCounts(len(own), *met.counts, pairs / max(1, of[0]), triples / max(1, of[1]))


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
