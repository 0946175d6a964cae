"""Sets of facts as the bits of integers: two sets are joined, and a set is found again, in one step."""

from __future__ import annotations

from functools import lru_cache

_BITS: dict[str, int] = {}
"""The bit of each fact that this process has named so far."""


@lru_cache(maxsize=None)
def bits(*facts: str) -> int:
    """Returns some facts as the bits of an integer."""
    found = 0
    for fact in facts:
        found |= _BITS.setdefault(fact, 1 << len(_BITS))
    return found


@lru_cache(maxsize=None)
def facts_in(found: int) -> frozenset[str]:
    """Returns the facts whose bits an integer has: for equal integers the same object, which is hashed only once."""
    return frozenset(fact for fact, bit in _BITS.items() if found & bit)
