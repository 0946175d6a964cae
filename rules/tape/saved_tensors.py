"""How many saved tensors are alive, at least and at most, and what keeps them alive."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from autograd_conformance.programs.language import (
    Ref,
)

Shares = frozenset[int]
"""What some instructions saved, by their numbers."""


NONE: Shares = frozenset()


@dataclass(slots=True)
class Share:
    """What one instruction saved: how many tensors of it are alive, at least and at most.

    It is `derived` where a call with create_graph, or a write, saved it: which of it a later call walks is not known.
    A call `failed` on it where one that walks it raised.
    """

    op: str
    least: int
    most: int
    derived: bool = False
    failed: bool = False


class Ledger:
    """Who keeps what alive.

    `keeps` says of every value that is alive which shares it may keep alive, `leads` which of them it surely does;
    `held` the same of gradients that are held, for as long as they have not been cleared.
    """

    def __init__(self) -> None:
        self.shares: dict[int, Share] = {}
        self.keeps: dict[Ref, Shares] = {}
        self.leads: dict[Ref, Shares] = {}
        self.held: dict[Ref, Shares] = {}

    def bounds(self) -> tuple[int, int]:
        """How many saved tensors there are, at least and at most."""
        shares = self.shares.values()
        return sum(share.least for share in shares), sum(share.most for share in shares)

    def kept(self, values: Iterable[Ref]) -> Shares:
        """What some values may keep alive."""
        return NONE.union(*(self.keeps.get(r, NONE) for r in values))

    def doubt(self, numbers: Iterable[int]) -> None:
        """Some shares may be gone."""
        for number in numbers:
            if number in self.shares:
                self.shares[number].least = 0

    def fail(self, numbers: Iterable[int]) -> None:
        """A call failed on some shares."""
        for number in numbers:
            if number in self.shares:
                self.shares[number].failed = True

    def gone(self, numbers: Iterable[int]) -> list[Share]:
        """Some shares are gone; those that there were."""
        return [self.shares.pop(number) for number in numbers if number in self.shares]

    def forget(self) -> list[Share]:
        """Let go of what nothing leads to any more; what went."""
        may = NONE.union(*self.keeps.values(), *self.held.values())
        sure = NONE.union(*self.leads.values())
        self.doubt(number for number in self.shares if number not in sure)
        return self.gone([number for number in self.shares if number not in may])
