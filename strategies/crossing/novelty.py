"""Novelty: how many facts would meet for the first time if an instruction touched a value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import permutations
from typing import NamedTuple

from autograd_conformance.interactions.reachable import reachable

PAIR = 20
"""A new pair of facts counts as much as this many new triples, which it makes."""


class Partners(NamedTuple):
    """For facts, those that met them in some drawn program. Facts are numbers, and sets of facts the bits of integers.

    `reachable.Met` has each pair and triple once, to count them; here they are found from any of their facts.
    """

    numbers: dict[str, int]
    """The number of each fact. A fact that no drawn program had gets the next number."""
    pairs: dict[int, int]
    """For each fact, the facts that met it."""
    triples: dict[tuple[int, int], int]
    """For each two facts, in either order, the facts that met both at once."""


@lru_cache(maxsize=1)
def partners() -> Partners:
    """Returns the facts that met in drawn programs."""
    found = Partners({fact: at for at, fact in enumerate(reachable().facts)}, {}, {})
    for meeting in reachable().meetings:
        bits = sum(1 << at for at in meeting)
        for at in meeting:
            found.pairs[at] = found.pairs.get(at, 0) | bits
        for pair in permutations(meeting, 2):
            found.triples[pair] = found.triples.get(pair, 0) | bits
    return found


def numbers(facts: Iterable[str]) -> tuple[int, ...]:
    """Returns the numbers of some facts."""
    known = partners().numbers
    return tuple(dict.fromkeys(known.setdefault(fact, len(known)) for fact in facts))


def novelty(instruction: Sequence[int], value: Sequence[int]) -> int:
    """Returns a weighted number of the pairs and triples that never met: of facts of an instruction with facts of a
    value, each fact by its number.
    """
    _, pairs, triples = partners()
    theirs = sum(1 << at for at in value)
    new = sum((theirs & ~pairs.get(at, 0)).bit_count() for at in instruction)
    if new:
        return PAIR * new
    each = (theirs & ~triples.get((one, other), 0) & ~(1 << other) for one in instruction for other in value)
    return sum(map(int.bit_count, each)) // 2  # each triple was counted for either fact of the value
