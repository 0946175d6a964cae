"""In-place writes in the reference: a recorded write gives the base, and every view of it, a new gradient edge."""

from __future__ import annotations

from dataclasses import dataclass

from autograd_conformance.programs.language import InPlace, Ref
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.memory.grads import Grads
from autograd_conformance.reference.computation.memory.storage import Storages
from autograd_conformance.reference.computation.memory.views import Views
from autograd_conformance.reference.computation.reverse import MOVE, GradientEdge, Moves, evaluate
from autograd_conformance.reference.computation.tape import ReferenceTape
from autograd_conformance.reference.computation.value_types import InternalValue
from autograd_conformance.reference.staging.derivatives import Array

NO_EDGE = InternalValue(-1)
"""An edge that no value has."""


@dataclass(slots=True, eq=False)
class Writes:
    """Carries out in-place writes. A recorded write becomes part of the history of its target's base and of all views
    of that base.
    """

    tape: ReferenceTape
    storages: Storages
    views: Views
    grads: Grads
    latest: GradientEdge = NO_EDGE
    """The edge of the latest write's result."""

    def overwrite(self, at: int, ref: Ref, value: Array) -> None:
        """Gives a value, and so all values that share its storage, new elements, by instruction `at`."""
        self.views.mark_rebased(self.storages.aliases(ref))
        self.storages.overwrite(at, ref, value)

    def write(self, at: int, step: InPlace, operands: tuple[Array, ...], made: Array, recording: bool) -> bool:
        """Carries out instruction `at`, a write with the result `made`; returns True if the write became part of a
        history.
        """
        tape, storage, refs = self.tape, self.storages.storage, (step.target, *step.args)
        needs_input_grad = tuple([recording and tape.requires_grad[r] for r in refs])
        edges, storages = tuple([tape.edge(r) for r in refs]), tuple([storage(r) for r in refs])
        (self.latest,) = tape.record(
            at, (made,), step.op, step.attrs, edges, operands, needs_input_grad, storages, storages[0]
        )
        if any(needs_input_grad):
            self.views.mark_rebased([step.target])  # the write may also reach the tensor of which this is a view
            self._rebase(at, step.target, made, self.latest)
        self.overwrite(at, step.target, made)
        return any(needs_input_grad)

    def _rebase(self, at: int, target: Ref, made: Array, written: GradientEdge) -> None:
        """Makes a recorded write, whose result is `written`, part of the history of the target's base and of all views
        of that base.
        """
        tape, storages, rebased = self.tape, self.storages, self.views.rebased
        base = storages.base(target)
        rebased.update(map(tape.edge, self.views.between(target, base)))
        new = written
        if tape.same_object.get(target, target) != base:
            new = self._scatter(at, target, base, made, written)
        tape.edges[base] = new
        if self.views.may_be_view(base) and storages.views_of.get(base):
            rebased.add(new)  # an op's result may be a view of an internal tensor
        family = storages.view_family(base)
        tape.requires_grad.update(dict.fromkeys(family, True))
        for view in storages.views_of.get(base, ()):
            if view not in tape.same_object:
                tape.edges[view] = self._gather(at, view, base, new)
        self.grads.renew_histories(family)

    def _scatter(self, at: int, target: Ref, base: Ref, made: Array, written: GradientEdge) -> GradientEdge:
        """Records that the elements of a view that was written to are copied into its base, and returns the base's new
        edge.
        """
        tape, offsets, old = self.tape, self.storages.offsets_in(target, base).ravel(), self.tape.values[base]
        kept = np.setdiff1d(np.arange(old.size), offsets)
        moves = Moves(((kept, kept), (np.arange(len(offsets)), offsets)), old.shape)
        whole = evaluate(MOVE, moves, (old, made))
        needs_input_grad = (tape.requires_grad[base], True)
        (new,) = tape.record(at, whole, MOVE, moves, (tape.edge(base), written), (old, made), needs_input_grad)
        return new

    def _gather(self, at: int, view: Ref, base: Ref, new: GradientEdge) -> GradientEdge:
        """Records that a view is taken again from its base, whose edge is `new`, and returns the view's new edge."""
        whole, offsets = self.tape.values[new], self.storages.offsets_in(view, base)
        moves = Moves(((offsets.ravel(), np.arange(offsets.size)),), offsets.shape)
        (edge,) = self.tape.record(at, (whole.ravel()[offsets],), MOVE, moves, (new,), (whole,), (True,))
        return edge
