"""The table of the actions (such as an op or a hook) that a sequence draws from, and the state of a sequence."""

from __future__ import annotations

from collections.abc import Callable

from autograd_conformance.programs.language import Ref, Shape
from autograd_conformance.reference.staging.vjp import base_op
from autograd_conformance.strategies.building.drafts.draft import Draft

SHAPES: tuple[Shape, ...] = ((3,), (2, 2), (), (2, 3), (1,), (3, 2), (2, 2, 3))

OTHER_ROOTS = 4
"""Number of other roots to try if a call on the drawn one would be illegal."""

Action = Callable[["Sequence"], None]
TABLE: dict[str, tuple[int, Action]] = {}
"""All actions of sequences by name, such as "backward": their number of entries in the table, and the function."""


def action(times: int) -> Callable[[Action], Action]:
    """Registers a function as an action of sequences with `times` entries in the table."""

    def put(action: Action) -> Action:
        TABLE[action.__name__] = (times, action)
        return action

    return put


class Sequence:
    """A program under construction, with the roots of its backward calls and the handles of its hooks."""

    def __init__(self, b: Draft, names: tuple[str, ...] | None = None) -> None:
        self.b = b
        """The program so far."""

        self.focus: Ref | None = None
        """The value that most actions are about; None if each action draws its own values."""

        self.called: list[Ref] = []
        """Roots of earlier backward calls, on which backward may be called again and which are not deleted."""

        self.handles: list[Ref] = []
        """The handles of the hooks that were not removed."""

        self.table = names or ("nothing", *(name for name, (times, _) in TABLE.items() for _ in range(times)))
        """The names of actions, such as "backward", drawn evenly, simplest first; frequent ones occur several times."""

    def act(self) -> None:
        """Draws one action (such as an op or a hook) and adds it."""
        name = self.b.pick(self.table)
        if name != "nothing":
            TABLE[name][1](self)

    # -- choosing -----------------------------------------------------------------------------------------------------

    def one_of(self, options: list[Ref]) -> Ref:
        """Draws one of several values: mostly the focus, if it is one of them; else with probability one half the
        newest.
        """
        if self.focus is not None and self.focus in options and self.b.below(4) < 3:
            return self.focus
        return self.b.choices.recent(options)

    def value(self) -> Ref:
        """Draws a value: with probability one half the newest."""
        return self.one_of(self.b.script.live)

    def move(self, made: Ref) -> None:
        """Draws whether a new value becomes the focus, if the sequence has one."""
        if self.focus is not None and not self.b.below(3):
            self.focus = made

    def root(self) -> Ref | None:
        """Draws a value to call backward on: mostly one on which the call is legal. Returns None if no value requires
        grad.
        """
        b = self.b
        above = self._above_focus()
        if above is not None:
            return above
        options = [r for r in b.script.live if b.requires(r) and not b.reference.tape.is_leaf(r)] or [
            r for r in b.script.live if b.requires(r)
        ]
        if not options:
            return None
        drawn = self.one_of(options)
        if b.below(6) and not b.actions.traversable(drawn):
            others = [r for r in reversed(options) if r != drawn][:OTHER_ROOTS]
            return next((r for r in others if b.actions.traversable(r)), drawn)
        return drawn

    def _above_focus(self) -> Ref | None:
        """Draws a root whose graph contains the focus: in half of the draws a new value. Returns None if there is no
        focus, or it requires no grad, or another root is drawn.
        """
        b, focus = self.b, self.focus
        if focus is None or focus not in b.script.live or not b.requires(focus) or not b.below(4):
            return None
        return b.ops.successor(focus) if b.below(2) or b.reference.tape.is_leaf(focus) else focus

    def smooth(self, root: Ref) -> bool:
        """Whether a backward call on a root may have create_graph: no op of its graph may have wrong derivatives of
        that order.
        """
        traversal = self.b.actions.traverse(root)
        nodes = (*traversal.nodes, *traversal.maybe_nodes)
        excluded = self.b.alphabet.first_order_only
        if any(n.derivative for n in nodes):
            excluded = excluded | self.b.alphabet.second_order_only
        return not any(base_op(n.op).rstrip("_") in excluded for n in nodes)

    def retain(self) -> bool | None:
        """Draws a value of `retain_graph`: None, False, or in half of the draws True."""
        return self.b.pick((None, True, True, False))

    def leaf(self) -> Ref | None:
        """Draws a leaf: with probability one half the newest. Returns None if there are none."""
        return self.one_of(self.b.script.leaves) if self.b.script.leaves else None
