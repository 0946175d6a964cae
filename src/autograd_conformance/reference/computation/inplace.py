"""In-place changes as pure functions: a write gives the base, and every view of it, a new gradient edge."""

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
    """The effects of writes, optimizer steps, clipping, and changes of `requires_grad` or of a history."""

    def __init__(self) -> None:
        super().__init__()
        self.optimizers: dict[tuple[Step, Ref], LeafState] = {}
        """The state of each optimizer for each of its leaves."""
        self.latest: GradientEdge = InternalValue(-1)
        """The edge of the latest write's result; before the first write, an edge that no value has."""
        self.toggled: set[Ref] = set()
        """Leaves whose `requires_grad` was changed."""
        self.new_leaves: dict[GradientEdge, Ref] = {}
        """The values that became leaves by a detach in place, by their edges."""

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
                self.rebased.add(edges[0])  # the write may also reach the tensor of which this is a view
            self._rebase(at, step.target, made, self.latest)
        self.overwrite(at, step.target, made)

    def _rebase(self, at: int, target: Ref, made: Array, written: GradientEdge) -> None:
        """Make a recorded write, whose result is `written`, part of the history of the target's base and of all its
        views.
        """
        storages, base = self.storages, self.storages.base(target)
        if base in self.toggled:
            self.unspecified = True  # earlier users of this leaf now find it inside the graph
        self.rebased.update(map(self.edge, self._views_between(target, base)))
        new = written
        if self.same_object.get(target, target) != base:
            new = self._scatter(at, target, base, made, written)
        self.edges[base] = new
        if self.may_be_view(base) and storages.views_of.get(base):
            self.rebased.add(new)  # an op's result may be a view of an internal tensor
        family = storages.view_family(base)
        self.requires_grad.update(dict.fromkeys(family, True))
        for view in storages.views_of.get(base, ()):
            if view not in self.same_object:
                self.edges[view] = self._gather(at, view, base, new)
        self._renew_histories(family)

    def _scatter(self, at: int, target: Ref, base: Ref, made: Array, written: GradientEdge) -> GradientEdge:
        """Record the move of a written view's elements into its base, and return the base's new edge."""
        offsets, old = self.storages.offsets_in(target, base).ravel(), self.values[base]
        kept = np.setdiff1d(np.arange(old.size), offsets)
        moves = Moves(((kept, kept), (np.arange(len(offsets)), offsets)), old.shape)
        whole = evaluate(MOVE, moves, (old, made))
        needs_input_grad = (self.requires_grad[base], True)
        (new,) = self.record_internal(at, whole, MOVE, moves, (self.edge(base), written), (old, made), needs_input_grad)
        return new

    def _gather(self, at: int, view: Ref, base: Ref, new: GradientEdge) -> GradientEdge:
        """Record a view as taken again from its base, whose edge is `new`, and return the view's new edge."""
        whole, offsets = self.values[new], self.storages.offsets_in(view, base)
        moves = Moves(((offsets.ravel(), np.arange(offsets.size)),), offsets.shape)
        (edge,) = self.record_internal(at, (whole.ravel()[offsets],), MOVE, moves, (new,), (whole,), (True,))
        return edge

    def _views_between(self, target: Ref, base: Ref) -> Iterator[Ref]:
        """The values between a view that was written to and its base, or the tensor of which the base may be a view."""
        if self.may_be_view(base):
            yield base
        while target != base and target in self.storages.derived:
            target = self.storages.derived[target].source
            if target != base:
                yield target

    # -- flags and histories ------------------------------------------------------------------------------------------

    def _detach_in_place(self, at: int, target: Ref) -> None:
        """Remove the history of a value, and of all values that are the same object."""
        names = self.same_objects([target])
        if not self.is_leaf(target):
            self.edges[self.same_object.get(target, target)] = self.constant(at, self.values[target])
            if names & (self.retained | self.captured_inputs):
                self.unspecified = True  # the rules do not say whether it still receives gradients
        self.requires_grad.update(dict.fromkeys(names, False))
        self._renew_histories(names)
        self.storages.versions[self.storages.storage(target)] = at  # ops that saved it may miss its history
        self._toggle_views(target)
        self._pullbacks.clear()

    def _set_requires_grad(self, target: Ref, on: bool) -> None:
        """Change `requires_grad` of a leaf."""
        self.grad(target)  # computes its .grad so far under the old flag
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
        """Mark the views of a value as unspecified, because its flag or history changed and the rules do not say what
        happens to views.
        """
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
            tensors = {leaf: ref for leaf in gradients if (ref := self.grads[leaf]) is not None}
            if len({self.storages.storage(ref) for ref in tensors.values()}) < len(tensors):
                self.unspecified = True  # a gradient that several leaves share is clipped several times
            for leaf, ref in tensors.items():
                self.overwrite(at, ref, made[leaf])
