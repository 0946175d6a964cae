"""How many saved tensors are alive, at least and at most, and what keeps them alive."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from autograd_conformance.programs.language import Ref

Numbers = frozenset[int]
"""Instructions that saved tensors, by their numbers."""

NONE: Numbers = frozenset()


@dataclass(slots=True)
class SavedBy:
    """The tensors that one instruction saved."""

    op: str
    """The op that saved them, or `create_graph` for a call that recorded itself."""
    least: int
    """How many of them are alive at least."""
    most: int
    """How many of them are alive at most."""
    derived: bool = False
    """Whether a call with create_graph, or a write, saved them: which of them a later call frees is not known."""
    failed: bool = False
    """Whether a call raised that goes through what was recorded with them, and none returned since."""


class SavedTensors:
    """All saved tensors that may be alive, and the values and gradients that keep them alive."""

    def __init__(self) -> None:
        self.by: dict[int, SavedBy] = {}
        """What each instruction saved, as far as it may be alive."""
        self.may_keep: dict[Ref, Numbers] = {}
        """For every value that is alive, the instructions whose saved tensors it may keep alive."""
        self.must_keep: dict[Ref, Numbers] = {}
        """For every value that is alive, those whose saved tensors it keeps alive for certain."""
        self.grad_may_keep: dict[Ref, Numbers] = {}
        """For every leaf, those whose saved tensors the gradient that it holds may keep alive."""

    def bounds(self) -> tuple[int, int]:
        """How many saved tensors are alive, at least and at most."""
        saved = self.by.values()
        return sum(each.least for each in saved), sum(each.most for each in saved)

    def kept_by(self, values: Iterable[Ref]) -> Numbers:
        """The instructions whose saved tensors values may keep alive."""
        return NONE.union(*(self.may_keep.get(r, NONE) for r in values))

    def may_free(self, numbers: Iterable[int]) -> None:
        """What instructions saved may be freed."""
        for number in numbers:
            if number in self.by:
                self.by[number].least = 0

    def fail(self, numbers: Iterable[int]) -> None:
        """A call raised that goes through what instructions recorded."""
        for number in numbers:
            if number in self.by:
                self.by[number].failed = True

    def recover(self) -> None:
        """A call returned: nothing is left of one that raised."""
        for each in self.by.values():
            each.failed = False

    def free(self, numbers: Iterable[int]) -> list[SavedBy]:
        """What instructions saved is freed; returns as much of it as there was."""
        return [self.by.pop(number) for number in numbers if number in self.by]

    def free_unreachable(self) -> list[SavedBy]:
        """What no value and no gradient leads to is freed; returns it."""
        may = NONE.union(*self.may_keep.values(), *self.grad_may_keep.values())
        must = NONE.union(*self.must_keep.values())
        self.may_free(number for number in self.by if number not in must)
        return self.free([number for number in self.by if number not in may])
