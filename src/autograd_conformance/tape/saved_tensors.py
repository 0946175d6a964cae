"""Bounds on the number of saved tensors that are alive, and the values and gradients that keep them alive."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from autograd_conformance.programs.language import Ref

Numbers = frozenset[int]
"""Numbers of instructions that saved tensors."""

NONE: Numbers = frozenset()


@dataclass(slots=True)
class SavedBy:
    """The tensors that one instruction saved."""

    op: str
    """The op that saved the tensors; `create_graph` for a call that recorded itself."""
    least: int
    """Lower bound on how many of the tensors are alive."""
    most: int
    """Upper bound on how many of the tensors are alive."""
    derived: bool = False
    """Whether a call with create_graph, or a write, saved the tensors. Then it is unknown which of the tensors a later
    call frees.
    """
    failed: bool = False
    """Whether a call through the nodes that saved the tensors raised, and no call has returned since."""


class SavedTensors:
    """All saved tensors that may be alive, and the values and gradients that keep them alive."""

    def __init__(self) -> None:
        self.by: dict[int, SavedBy] = {}
        """For each instruction, the tensors that it saved and that may be alive."""
        self.may_keep: dict[Ref, Numbers] = {}
        """For each live value, the instructions whose saved tensors it may keep alive."""
        self.must_keep: dict[Ref, Numbers] = {}
        """For each live value, the instructions whose saved tensors it certainly keeps alive."""
        self.grad_may_keep: dict[Ref, Numbers] = {}
        """For each leaf, the instructions whose saved tensors its gradient may keep alive."""

    def bounds(self) -> tuple[int, int]:
        """Returns the lower and upper bound on the number of saved tensors that are alive."""
        saved = self.by.values()
        return sum(each.least for each in saved), sum(each.most for each in saved)

    def kept_by(self, values: Iterable[Ref]) -> Numbers:
        """Returns the instructions whose saved tensors the values may keep alive."""
        return NONE.union(*(self.may_keep.get(r, NONE) for r in values))

    def may_free(self, numbers: Iterable[int]) -> None:
        """Mark the tensors that these instructions saved as possibly freed."""
        for number in numbers:
            if number in self.by:
                self.by[number].least = 0

    def fail(self, numbers: Iterable[int]) -> None:
        """Note that a call through the nodes of these instructions raised."""
        for number in numbers:
            if number in self.by:
                self.by[number].failed = True

    def recover(self) -> None:
        """Note that a call returned, which ends the effects of calls that raised."""
        for each in self.by.values():
            each.failed = False

    def free(self, numbers: Iterable[int]) -> list[SavedBy]:
        """Remove the tensors that these instructions saved, and return those that were there."""
        return [self.by.pop(number) for number in numbers if number in self.by]

    def free_unreachable(self) -> list[SavedBy]:
        """Remove and return the saved tensors that no value and no gradient keeps alive. Tensors that may be kept
        alive, or not, are marked as possibly freed.
        """
        may = NONE.union(*self.may_keep.values(), *self.grad_may_keep.values())
        must = NONE.union(*self.must_keep.values())
        self.may_free(number for number in self.by if number not in must)
        return self.free([number for number in self.by if number not in may])
