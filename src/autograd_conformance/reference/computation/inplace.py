"""In-place changes as pure functions: what is written becomes a new gradient edge of the base, and of every view."""

from __future__ import annotations

from collections.abc import Iterator

from autograd_conformance.programs.language import Clip, InPlace, Ref, Step
from autograd_conformance.programs.operands import grouped
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.grads import Grads
from autograd_conformance.reference.computation.reverse import MOVE, GradientEdge, Moves, evaluate
from autograd_conformance.reference.computation.value_types import InternalValue
from autograd_conformance.reference.optimizers import LeafState, clipped, stepped
from autograd_conformance.reference.staging.derivatives import Array


class Writes(Grads):
    """What writes, optimizers' steps, clipping, and changes of a value's flag or history do."""

    def __init__(self) -> None:
        super().__init__()
        self.optimizers: dict[tuple[Step, Ref], LeafState] = {}
        """What each optimizer remembers of each of its leaves."""
        self.latest: GradientEdge = InternalValue(-1)
        """The edge of the latest write's result; before the first write, an edge that nothing has."""
        self.toggled: set[Ref] = set()
        """Leaves that have begun or ceased to require grad."""
        self.new_leaves: dict[GradientEdge, Ref] = {}
        """The values that are leaves since they lost their history in place, by their edges."""

    # -- writes -------------------------------------------------------------------------------------------------------

    def _write(self, at: int, step: InPlace, recording: bool) -> None:
        refs = (step.target, *step.args)
        operands = tuple([self.values[r] for r in refs])
        (made,) = self._applied(at, step.op, refs, step.attrs, operands)
        needs_input_grad = tuple([recording and self.requires_grad[r] for r in refs])
        edges, storages = tuple([self.edge(r) for r in refs]), tuple([self.storages.storage(r) for r in refs])
        (self.latest,) = self.record_internal(
            at, (made,), step.op, step.attrs, edges, operands, needs_input_grad, storages, storages[0]
        )
        if any(needs_input_grad):
            if self.may_be_view(step.target):
                self.rebased.add(edges[0])  # the write may reach past it to what it is a view of
            self._rebase(at, step.target, made, self.latest)
        self.overwrite(at, step.target, made)

    def _rebase(self, at: int, target: Ref, made: Array, written: GradientEdge) -> None:
        """A recorded write, whose result is `written`, becomes history of the target's base and of all its views."""
        storages, base = self.storages, self.storages.base(target)
        if base in self.toggled:
            self.unspecified = True  # what used it as a leaf finds it inside the graph
        self.rebased.update(map(self.edge, self._passed(target, base)))
        new = written
        if self.same_object.get(target, target) != base:
            new = self._put(at, target, base, made, written)
        self.edges[base] = new
        if self.may_be_view(base) and storages.views_of.get(base):
            self.rebased.add(new)  # what an op returned may itself be a view of something that nobody sees
        family = storages.view_family(base)
        self.requires_grad.update(dict.fromkeys(family, True))
        for view in storages.views_of.get(base, ()):
            if view not in self.same_object:
                self.edges[view] = self._taken(at, view, base, new)
        self._renew_histories(family)

    def _put(self, at: int, target: Ref, base: Ref, made: Array, written: GradientEdge) -> GradientEdge:
        """What was written to a view, recorded as moved to its places in the base; the base's new edge."""
        offsets, old = self.storages.offsets_in(target, base).ravel(), self.values[base]
        kept = np.setdiff1d(np.arange(old.size), offsets)
        moves = Moves(((kept, kept), (np.arange(len(offsets)), offsets)), old.shape)
        whole = evaluate(MOVE, moves, (old, made))
        needs_input_grad = (self.requires_grad[base], True)
        (new,) = self.record_internal(at, whole, MOVE, moves, (self.edge(base), written), (old, made), needs_input_grad)
        return new

    def _taken(self, at: int, view: Ref, base: Ref, new: GradientEdge) -> GradientEdge:
        """A view, recorded as taken anew from its base, whose edge is `new`; the view's new edge."""
        whole, offsets = self.values[new], self.storages.offsets_in(view, base)
        moves = Moves(((offsets.ravel(), np.arange(offsets.size)),), offsets.shape)
        (edge,) = self.record_internal(at, (whole.ravel()[offsets],), MOVE, moves, (new,), (whole,), (True,))
        return edge

    def _passed(self, target: Ref, base: Ref) -> Iterator[Ref]:
        """The values that a write to a view may pass on the way to its base, or to what that is a view of."""
        if self.may_be_view(base):
            yield base
        while target != base and target in self.storages.derived:
            target = self.storages.derived[target].source
            if target != base:
                yield target

    # -- flags and histories ------------------------------------------------------------------------------------------

    def _detach_in_place(self, at: int, target: Ref) -> None:
        """A value loses its history, and so does what is one object with it."""
        names = self.same_objects([target])
        if not self.is_leaf(target):
            self.edges[self.same_object.get(target, target)] = self.constant(at, self.values[target])
            if names & (self.retained | self.captured_inputs):
                self.unspecified = True  # nothing says whether it still holds gradients
        self.requires_grad.update(dict.fromkeys(names, False))
        self._renew_histories(names)
        self.storages.versions[self.storages.storage(target)] = at  # what saved it may miss its history
        self._toggle_views(target)
        self._pullbacks.clear()

    def _set_requires_grad(self, target: Ref, on: bool) -> None:
        """A leaf begins or ceases to require grad."""
        self.grad(target)  # what it holds by now it got under the flag that it had
        if self.is_leaf(target):
            if self.requires_grad[target] != on:
                self.toggled.add(target)
            if isinstance(edge := self.edge(target), InternalValue):
                self.new_leaves[edge] = target
            self.requires_grad.update(dict.fromkeys(self.same_objects([target]), on))
            self._renew_histories([target])
            self._toggle_views(target)
            self._pullbacks.clear()

    def _toggle_views(self, target: Ref) -> None:
        """Nothing says what views of a value make of a change of its flag alone."""
        self.storages.views_of_toggled.update(set(self.storages.view_family(target)) - self.same_objects([target]))

    # -- optimizers ---------------------------------------------------------------------------------------------------

    def _step(self, at: int, step: Step) -> None:
        for leaf, settings in grouped(step):
            gradient = self.grad(leaf)
            if gradient is not None:
                state = self.optimizers.setdefault((step, leaf), LeafState())
                moved = stepped(step.optimizer, dict(settings), state, self.values[leaf], gradient)
                self.overwrite(at, leaf, moved)

    def _clip(self, at: int, step: Clip) -> None:
        gradients = {leaf: gradient for leaf in step.leaves if (gradient := self.grad(leaf)) is not None}
        made = clipped(step, gradients)
        self._totals.update({leaf: (len(self._changing), gradient) for leaf, gradient in made.items()})
        if self.observing:
            held = {leaf: ref for leaf in gradients if (ref := self.grads[leaf]) is not None}
            if len({self.storages.storage(ref) for ref in held.values()}) < len(held):
                self.unspecified = True  # one storage, clipped as often as leaves hold it
            for leaf, ref in held.items():
                self.overwrite(at, ref, made[leaf])
