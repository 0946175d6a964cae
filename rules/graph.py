"""The recorded graph: its nodes, what a backward call walks, and what is expected of an instruction. Plain data for
the tape model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

from rules.language import Attrs, Ref
from rules.observations import Kind
from rules.ops import OPS, Saves


class Freed(IntEnum):
    """Whether a node's saved values are gone."""

    NO = 0
    PERHAPS = 1
    SURELY = 2


@dataclass(slots=True, eq=False)
class Node:
    """A recorded op, or (`derivative`) the derivatives that a backward call with create_graph recorded.

    `walks` counts the backward calls that went through it; `freed_by` is the one that freed it.
    """

    at: int
    op: str
    attrs: Attrs
    args: tuple[Ref, ...]
    results: int
    saves: Saves
    freed: Freed = Freed.NO
    freed_by: int | None = None
    walks: int = 0
    was_retained: bool = False
    derivative: bool = False

    @property
    def surely_gone(self) -> bool:
        """Whether walking this node needs something that no longer exists."""
        return self.freed is Freed.SURELY and self.saves is Saves.SURELY


@dataclass(frozen=True, slots=True)
class Walk:
    """What a backward call goes through: its nodes, newest first, and the leaves that it reaches.

    `perhaps` are nodes that it may go through: those behind the operands of a derivative, which matter only where the
    derivative depends on them.
    """

    nodes: tuple[Node, ...] = ()
    leaves: frozenset[Ref] = frozenset()
    uses: Mapping[Ref, int] = field(default_factory=dict)
    perhaps: tuple[Node, ...] = ()

    @property
    def alone(self) -> bool:
        """Whether the call goes through a single op and nothing else."""
        return len(self.nodes) == 1 and not self.perhaps and self.nodes[0].op in OPS


@dataclass(frozen=True, slots=True)
class Expectation:
    """What may happen at one instruction.

    `returns` is the rule that lets it return (None: it must not); `raises` the kinds of error that it may raise, each
    with its rule; `exercises` the rules whose situation this instruction brings about.
    """

    returns: str | None = "errors/legal-returns"
    raises: Mapping[Kind, str] = field(default_factory=dict)
    exercises: tuple[str, ...] = ()
    walk: Walk = Walk()
