"""The table of what a sequence may do in a turn, and what it remembers of what it did."""

from __future__ import annotations

from collections.abc import Callable

from autograd_conformance.programs.language import Ref, Shape
from autograd_conformance.reference.staging.vjp import base_op
from autograd_conformance.strategies.building.action_builder import Actor
from autograd_conformance.strategies.building.draft import Draw
from hypothesis import strategies as st

SHAPES: tuple[Shape, ...] = ((3,), (2, 2), (), (2, 3), (1,), (3, 2), (2, 2, 3))

TRIED = 4
"""How many other roots are tried where a call on the one that was drawn would not be legal."""

Turn = Callable[["Sequence"], None]
TURNS: dict[str, tuple[int, Turn]] = {}
"""Every action by its name: how often it stands in the table, and what it does."""


def turn(times: int) -> Callable[[Turn], Turn]:
    """Put an action into the table."""

    def put(action: Turn) -> Turn:
        TURNS[action.__name__] = (times, action)
        return action

    return put


class Sequence:
    """An actor with a memory of what it did: the roots that it walked, its hooks and its steps."""

    def __init__(self, b: Actor) -> None:
        self.b = b
        self.walked: list[Ref] = []
        self.handles: list[Ref] = []
        self.table = st.sampled_from(["nothing", *(name for name, (times, _) in TURNS.items() for _ in range(times))])

    def play(self, draw: Draw) -> None:
        """One turn, whose draws are its own."""
        outer, self.b.draw = self.b.draw, draw
        try:
            name = draw(self.table)
            if name != "nothing":
                TURNS[name][1](self)
        finally:
            self.b.draw = outer

    # -- choosing -----------------------------------------------------------------------------------------------------

    def value(self) -> Ref:
        """Some value, half of the time the newest."""
        return self.b.recent(self.b.live)

    def root(self) -> Ref | None:
        """A value to call backward on: most of the time one on which that is legal."""
        b = self.b
        options = [r for r in b.live if b.requires(r) and not b.reference.is_leaf(r)] or [
            r for r in b.live if b.requires(r)
        ]
        if not options:
            return None
        drawn = b.recent(options)
        if b.below(6) and not b.walkable(drawn):
            others = [r for r in reversed(options) if r != drawn][:TRIED]
            return next((r for r in others if b.walkable(r)), drawn)
        return drawn

    def smooth(self, root: Ref) -> bool:
        """Whether what a call on a root walks may be differentiated once more, which derivatives in it were before."""
        walk = self.b.walk(root)
        nodes = (*walk.nodes, *walk.maybe_nodes)
        left_out = self.b.alphabet.once
        if any(n.derivative for n in nodes):
            left_out = left_out | self.b.alphabet.twice_only
        return not any(base_op(n.op).rstrip("_") in left_out for n in nodes)

    def retain(self) -> bool | None:
        """Whether a call keeps the graph."""
        return self.b.pick((None, True, True, False))

    def leaf(self) -> Ref | None:
        """A leaf, the newest half of the time."""
        return self.b.recent(self.b.leaves) if self.b.leaves else None
