"""The table of a sequence's actions, and what a sequence remembers of those that it did."""

from __future__ import annotations

from collections.abc import Callable

from autograd_conformance.programs.language import Ref, Shape
from autograd_conformance.reference.staging.vjp import base_op
from autograd_conformance.strategies.building.action_builder import ActionBuilder

SHAPES: tuple[Shape, ...] = ((3,), (2, 2), (), (2, 3), (1,), (3, 2), (2, 2, 3))

OTHER_ROOTS = 4
"""How many other roots are tried where a call on the one that was drawn would not be legal."""

Action = Callable[["Sequence"], None]
TABLE: dict[str, tuple[int, Action]] = {}
"""Every action by its name: how often it stands in the table, and what it does."""


def action(times: int) -> Callable[[Action], Action]:
    """Put an action into the table."""

    def put(action: Action) -> Action:
        TABLE[action.__name__] = (times, action)
        return action

    return put


class Sequence:
    """A program under construction, with the roots that were called and the handles of the hooks that are there."""

    def __init__(self, b: ActionBuilder) -> None:
        self.b = b
        """The program so far."""

        self.called: list[Ref] = []
        """The roots of all backward calls."""

        self.handles: list[Ref] = []
        """The handles of the hooks that were not removed."""

        self.table = ("nothing", *(name for name, (times, _) in TABLE.items() for _ in range(times)))
        """The names of actions as they are drawn from, the simplest first."""

    def act(self) -> None:
        """One action."""
        name = self.b.pick(self.table)
        if name != "nothing":
            TABLE[name][1](self)

    # -- choosing -----------------------------------------------------------------------------------------------------

    def value(self) -> Ref:
        """A value, half of the time the newest."""
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
        if b.below(6) and not b.traversable(drawn):
            others = [r for r in reversed(options) if r != drawn][:OTHER_ROOTS]
            return next((r for r in others if b.traversable(r)), drawn)
        return drawn

    def smooth(self, root: Ref) -> bool:
        """Whether a call on a root may have create_graph: whether its ops may be differentiated once more."""
        traversal = self.b.traverse(root)
        nodes = (*traversal.nodes, *traversal.maybe_nodes)
        left_out = self.b.alphabet.first_order_only
        if any(n.derivative for n in nodes):
            left_out = left_out | self.b.alphabet.second_order_only
        return not any(base_op(n.op).rstrip("_") in left_out for n in nodes)

    def retain(self) -> bool | None:
        """Whether a call keeps the graph."""
        return self.b.pick((None, True, True, False))

    def leaf(self) -> Ref | None:
        """A leaf, the newest half of the time."""
        return self.b.recent(self.b.leaves) if self.b.leaves else None
