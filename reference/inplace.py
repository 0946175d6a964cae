"""In-place changes as pure functions: what is written becomes a new slot of the base, and of every view of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from autograd_conformance.programs.language import InPlace, Ref, Step
from autograd_conformance.programs.operands import grouped
from autograd_conformance.reference.optimizers import LeafState, stepped
from autograd_conformance.reference.reverse import MOVE, GradientEdge, Moves, evaluate
from autograd_conformance.reference.staging.derivatives import Array
from autograd_conformance.reference.state import State


class Writing(State):
    """The part of the reference that writes."""

    def __init__(self) -> None:
        super().__init__()
        self.optimizers: dict[tuple[Step, Ref], LeafState] = {}
        self.latest: GradientEdge = Ref(-1)

    def _write(self, at: int, step: InPlace, recording: bool) -> None:
        refs = (step.target, *step.args)
        operands = tuple([self.values[r] for r in refs])
        (made,) = evaluate(step.op, step.attrs, operands)
        needs_input_grad = tuple([recording and self.requires_grad[r] for r in refs])
        edges, operand_storages = tuple([self.edge(r) for r in refs]), tuple([self.storages.storage(r) for r in refs])
        (self.latest,) = self._shadow(
            at, (made,), step.op, step.attrs, edges, operands, needs_input_grad, operand_storages, operand_storages[0]
        )
        if any(needs_input_grad):
            if self._may_be_view(step.target):
                self.rebased.add(edges[0])  # the write may reach past it to what it is a view of
            self._rebase(at, step.target, made)
        self.overwrite(at, step.target, made)

    def _rebase(self, at: int, target: Ref, made: Array) -> None:
        """The latest write becomes a part of the history of the target's base and of every view of it."""
        storages, new = self.storages, self.latest
        base = storages.base(target)
        self.unspecified = self.unspecified or base in self.toggled  # what used it as a leaf finds it inside the graph
        self.rebased.update(map(self.edge, self._passed(target, base)))
        if self.same.get(target, target) != base:
            within = storages.offsets_in(target, base).ravel()
            old = self.values[base]
            kept = np.setdiff1d(np.arange(old.size), within)
            moves = Moves(((kept, kept), (np.arange(len(within)), within)), old.shape)
            put = evaluate(MOVE, moves, (old, made))
            both = (self.edge(base), new)
            (new,) = self._shadow(at, put, MOVE, moves, both, (old, made), (self.requires_grad[base], True))
        whole = self.values[new]
        self.edges[base] = new
        if self._may_be_view(base) and storages.views_of.get(base):
            self.rebased.add(new)  # what an op returned may itself be a view of something that nobody sees
        relatives = storages.view_family(base)
        self.requires_grad.update(dict.fromkeys(relatives, True))
        for view in storages.views_of.get(base, ()):
            if view in self.same:
                continue
            places = storages.offsets_in(view, base)
            taken = Moves(((places.ravel(), np.arange(places.size)),), places.shape)
            out = (whole.ravel()[places],)
            (self.edges[view],) = self._shadow(at, out, MOVE, taken, (new,), (whole,), (True,))
        self._hold_again(relatives)

    def _passed(self, target: Ref, base: Ref) -> Iterator[Ref]:
        """What a write to a view may pass by on the way to its base, or to what that is a view of."""
        if self._may_be_view(base):
            yield base
        while target != base and target in self.storages.derived:
            target = self.storages.derived[target].source
            if target != base:
                yield target

    def _cut(self, at: int, target: Ref) -> None:
        """A value loses its history in place."""
        if not self.is_leaf(target):
            self.edges[target] = self.constant(at, self.values[target])
            if target in self.retained | self.captured_inputs:
                self.unspecified = True  # whether it still holds gradients is nobody's promise
        self.requires_grad[target] = False
        self.storages.versions[self.storages.storage(target)] = at  # what saved it may miss its history
        self._uncertain(target)
        self._pullbacks.clear()  # type: ignore[attr-defined]

    def _switch(self, target: Ref, on: bool) -> None:
        """A leaf begins or ceases to require grad."""
        if self.is_leaf(target):
            if self.requires_grad[target] != on:
                self.toggled.add(target)
            self.requires_grad.update(dict.fromkeys(self.same_objects([target]), on))
            self._hold_again([target])
            self._uncertain(target)
            self._pullbacks.clear()  # type: ignore[attr-defined]

    def _hold_again(self, changed: Iterable[Ref]) -> None:
        """Those that hold one of some values as their gradient hold its history as it is now."""
        changed = self.same_objects(changed)
        for holder, held in self.grads.items():
            if held in changed:
                if self.requires_grad[held]:
                    self.histories[holder] = self.edge(held)
                else:
                    self.histories.pop(holder, None)

    def _uncertain(self, target: Ref) -> None:
        """What views of a value make of a change of its flag alone is nobody's promise."""
        self.storages.views_of_toggled.update(set(self.storages.view_family(target)) - self.same_objects([target]))

    def _step(self, at: int, step: Step) -> None:
        for leaf, settings in grouped(step):
            gradient = self.held(leaf)  # type: ignore[attr-defined]
            if gradient is not None:
                state = self.optimizers.setdefault((step, leaf), LeafState())
                moved = stepped(step.optimizer, dict(settings), state, self.values[leaf], gradient)
                self.overwrite(at, leaf, moved)
