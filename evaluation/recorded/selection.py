"""Chooses few programs that together have all interactions of many."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from itertools import combinations

from autograd_conformance.interactions.meetings import meetings
from autograd_conformance.programs.language import Program


class Numbers:
    """Numbers the interactions of `size` facts, so that those of a program are the bits of one integer."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.number: dict[tuple[str, ...], int] = {}
        self.known: dict[frozenset[str], int] = {}

    def bits(self, program: Program) -> int:
        """Returns the interactions of a program."""
        found = 0
        for meeting in {*meetings(program)}:
            if meeting not in self.known:
                each = combinations(sorted(meeting), self.size)
                numbers = (self.number.setdefault(facts, len(self.number)) for facts in each)
                self.known[meeting] = union(1 << number for number in numbers)
            found |= self.known[meeting]
        return found


def union(each: Iterable[int]) -> int:
    """Returns all interactions of several integers."""
    found = 0
    for bits in each:
        found |= bits
    return found


def cover(interactions: Sequence[int], has: int = 0) -> list[int]:
    """Chooses programs whose interactions, together with those in `has`, are all that there are: always the program
    that adds most, and of several the first. Returns their indices.
    """
    queue = [(-each.bit_count(), at) for at, each in enumerate(interactions)]
    heapq.heapify(queue)
    chosen = []
    while queue:
        stale, at = heapq.heappop(queue)
        adds = (interactions[at] & ~has).bit_count()
        if adds == -stale and adds:
            chosen.append(at)
            has |= interactions[at]
        elif adds:
            heapq.heappush(queue, (-adds, at))
    return chosen
