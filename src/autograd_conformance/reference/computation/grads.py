"""The `.grad` of every value: its numbers, its memory and its history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from autograd_conformance.programs.capabilities import PYTORCH
from autograd_conformance.programs.language import (
    AssignGrad,
    Backward,
    BackwardCall,
    Grad,
    Instruction,
    Leaf,
    Ref,
    ZeroGrad,
)
from autograd_conformance.programs.observations import Gradient, Returned, StepObservation
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.pullback import Pullback
from autograd_conformance.reference.computation.recorded_backward import RecordedBackward
from autograd_conformance.reference.computation.reverse import GradientEdge
from autograd_conformance.reference.computation.storage import Derived
from autograd_conformance.reference.computation.value_types import GradTensor
from autograd_conformance.reference.equality import is_equal
from autograd_conformance.reference.staging.derivatives import Array


class Grads(Pullback):
    """The `.grad` of every value, as observed or as computed from the calls so far."""

    def __init__(self) -> None:
        super().__init__()
        self.traits = PYTORCH
        """The framework's choices where several behaviours are legal."""
        self.unobserved: set[Ref] = set()
        """Values that were not observed when they were made, such as those inside a region."""
        self.observing = False
        """Whether observations are given. If so, `grads` follows them; otherwise `.grad` is computed from the calls so
        far."""
        self.grads: dict[Ref, Ref | None] = {}
        """For each value, its `.grad`: a `GradTensor`, or the value of the program that was assigned."""
        self.identities: dict[Ref, int | None] = {}
        """For each value, the identity of the object last observed as its `.grad`; None if it is unknown."""
        self.histories: dict[Ref, GradientEdge] = {}
        """For each value with a differentiable `.grad`, the edge of that gradient."""
        self.outdated: set[Ref] = set()
        """Gradients whose recorded history may be outdated or incomplete."""
        self.retained: set[Ref] = set()
        """Values that are no leaves and retain their gradients."""
        self.captured_inputs: set[Ref] = set()
        """Values that are no leaves and were inputs of a call: later calls may accumulate into their `.grad`, too."""
        self.made_by_call: dict[int, list[Ref]] = {}
        """The gradients that each call made."""
        self._contributions: dict[int, dict[Ref, Array]] = {}  # of calls that other values than leaves receive
        self._changing: list[int] = []  # the instructions so far that may change a leaf's .grad
        self._scanned = 0  # number of instructions searched for these
        self._totals: dict[Ref, tuple[int, Array | None]] = {}  # .grad after the first n of these

    @property
    def begins_with_zeros(self) -> bool:
        """Whether the `.grad` of leaves that require grad is zeros before any call."""
        return self.traits.begins_with_zeros

    def grad(self, leaf: Ref) -> Array | None:
        """A leaf's `.grad`: as observed, or as it follows if every call so far was legal."""
        if self.observing:
            tensor = self.grads.get(leaf)
            return None if tensor is None else self.values[tensor]
        new = range(self._scanned, len(self.steps))
        self._changing += [at for at in new if isinstance(self.steps[at], (Backward, ZeroGrad, AssignGrad))]
        self._scanned = len(self.steps)
        since, total = self._totals.get(leaf) or (0, self._initial_grad(leaf))
        for at in self._changing[since:]:
            if at not in self.skipped:
                total = self._grad_after(at, self.steps[at], leaf, total)
        self._totals[leaf] = len(self._changing), total
        return total

    def _initial_grad(self, leaf: Ref) -> Array | None:
        """A leaf's `.grad` before any call."""
        step = self.steps[leaf.at]
        begins = self.begins_with_zeros and isinstance(step, Leaf) and step.requires_grad
        return np.zeros_like(self.values[leaf]) if begins else None

    def _init_grad(self, leaf: Ref) -> None:
        """Set the initial `.grad` of a new leaf, for frameworks in which it is zeros."""
        zeros = self._initial_grad(leaf) if self.observing else None
        if zeros is not None:
            self.grads[leaf] = self.new_grad_tensor(zeros)

    def _grad_after(self, at: int, step: Instruction, leaf: Ref, total: Array | None) -> Array | None:
        """A leaf's `.grad` after an instruction, given the `.grad` before it."""
        contribution: Array | None = None
        match step:
            case Backward() if at in self._contributions:
                contribution = self._contributions[at].get(leaf)
            case Backward() if self.requires_grad[leaf] and self.is_legal(step):
                contribution = self.pullback(step).get(self.edge(leaf))
            case ZeroGrad(leaves, to_none) if leaf in leaves:
                return None if to_none or total is None else np.zeros_like(total)
            case AssignGrad(target, given) if target == leaf:
                return None if given is None else self.values[given]
        return total if contribution is None else contribution if total is None else total + contribution

    # -- calls --------------------------------------------------------------------------------------------------------

    def _call(self, at: int, call: BackwardCall) -> tuple[Array, ...]:
        """Record a backward call, and return the values that it makes."""
        if not self.observing and not self.is_legal(call):
            return () if isinstance(call, Backward) else self._results(at, call, {}, {})
        created = RecordedBackward(self, at).run(call) if call.create_graph else {}
        if isinstance(call, Grad):
            return self._results(at, call, self.pullback(call), created)
        not_only_leaves = self.edges or call.inputs is not None or self.retained
        if created or not_only_leaves or self.histories or self.observing:
            contributed = self.pullback(call)
            receivers = self.receivers(call, contributed)
            if not self.observing and not_only_leaves:
                self._contributions[at] = {ref: contributed[self.edge(ref)] for ref in receivers}
            for ref in receivers:
                self._accumulate_history(at, call, ref, created)
        return ()

    def _accumulate_history(self, at: int, call: Backward, ref: Ref, created: dict[GradientEdge, GradientEdge]) -> None:
        """Update the history and the version of a value's `.grad` after a call added to it."""
        tensor, old = self.grads.get(ref), self.histories.get(ref)
        if call.create_graph:
            new = created[self.edge(ref)]
            self.histories[ref] = new if old is None else self.apply_internal(at, "add", (), (old, new))[0]
            return
        if tensor is not None:
            self.storages.versions[self.storages.storage(tensor)] = at
        if old is not None:
            del self.histories[ref]
            if tensor is not None:
                self.outdated.add(tensor)

    def receivers(self, call: Backward, contributed: Mapping[GradientEdge, Array]) -> list[Ref]:
        """The values whose `.grad` a call adds to; `contributed` maps edges to the call's contributions."""
        if call.inputs is not None:
            candidates = [*dict.fromkeys(call.inputs), *(r for r in self.retained if r not in call.inputs)]
        else:
            candidates = [
                r for r in contributed if r not in self.producer and self.requires_grad[r] and self.edge(r) == r
            ]
            candidates += self.retained
        return [r for r in candidates if self.edge(r) in contributed]

    def _replaces_grad(self, step: Instruction, owner: Ref) -> bool:
        """Whether an instruction is a call with create_graph that replaces a value's `.grad`."""
        if not isinstance(step, Backward) or not step.create_graph:
            return False
        return owner in self.receivers(step, self.pullback(step))

    def is_legal(self, call: BackwardCall) -> bool:
        """Whether a call can be computed: its roots require grad and have valid cotangents. Implementations refuse all
        other calls.
        """
        pairs = zip(call.roots, call.cotangents, strict=True)
        return all(
            self.requires_grad[r]
            and (self.traits.implies(self.values[r].shape) if c is None else c.shape == self.values[r].shape)
            for r, c in pairs
        )

    def _results(
        self, at: int, call: Grad, contributed: Mapping[GradientEdge, Array], created: dict[GradientEdge, GradientEdge]
    ) -> tuple[Array, ...]:
        made = []
        for k, ref in enumerate(call.inputs):
            edge, out = self.edge(ref), Ref(at, k)
            value = contributed.get(edge)
            self.values[out] = np.zeros_like(self.values[ref]) if value is None else value
            self.requires_grad[out] = edge in created and self.requires_grad[created[edge]]
            if edge in created:
                self.edges[out] = created[edge]
            made.append(self.values[out])
            self.made_by_call.setdefault(at, []).append(out)
        return tuple(made)

    # -- reading, clearing, assigning ---------------------------------------------------------------------------------

    def _read(self, at: int, leaf: Ref) -> tuple[Array, ...]:
        """Make a leaf's `.grad` a value of the program, and return it."""
        tensor = self.grads.get(leaf) if self.observing else None
        if tensor is None:
            value = self.grad(leaf)
            tensor = self.new_grad_tensor(np.zeros_like(self.values[leaf]) if value is None else value)
            self._set_history(leaf, tensor)
        ref = Ref(at)
        self.storages.add_view(ref, Derived(tensor), restricted=False)
        self.values[ref], self.requires_grad[ref] = self.values[tensor], self.requires_grad[tensor]
        self.same_object[ref] = self.same_object.get(tensor, tensor)
        if tensor in self.outdated:
            self.storages.unspecified.add(ref)  # its history may be outdated
        return (self.values[ref],)

    def _set_history(self, owner: Ref, tensor: Ref) -> None:
        """Give a new gradient tensor the history of the `.grad` that it represents."""
        history = self.histories.get(owner)
        if history is not None:
            self.edges[tensor] = history
            self.requires_grad[tensor] = self.requires_grad[history]

    def _renew_histories(self, changed: Iterable[Ref]) -> None:
        """Update the histories of every `.grad` that is one of the changed values."""
        changed = self.same_objects(changed)
        for owner, tensor in self.grads.items():
            if tensor in changed:
                if self.requires_grad[tensor]:
                    self.histories[owner] = self.edge(tensor)
                else:
                    self.histories.pop(owner, None)

    def _clear(self, step: ZeroGrad) -> None:
        """Clear gradients, to None or to zeros in place; zeros in place outdate a history."""
        for leaf in step.leaves:
            self.histories.pop(leaf, None)
            tensor = None if step.set_to_none else self.grads.get(leaf)
            if tensor is None:
                continue
            # Clearing counts as a write even if the elements do not change.
            self.storages.versions[self.storages.storage(tensor)] = len(self.steps) - 1
            if self.requires_grad[tensor]:
                self.outdated.add(tensor)
                self._mark_unspecified(self.same_objects([tensor, *self.storages.aliases(tensor)]))

    def _assign(self, leaf: Ref, given: Ref | None) -> None:
        """Replace a `.grad` by a value, a copy of a value, or None."""
        self.histories.pop(leaf, None)
        self._release(self.grads.get(leaf))
        if given is not None and self.traits.copies:
            self.grads[leaf] = self.new_grad_tensor(self.values[given])
        else:
            self.grads[leaf] = given
            if given is not None and self.requires_grad[given]:
                self.histories[leaf] = self.edge(given)
        self.identities[leaf] = None

    def _release(self, tensor: Ref | None) -> None:
        """Release the memory of a tensor that was a `.grad`, if the program has no name for the tensor."""
        if isinstance(tensor, GradTensor):
            self.storages.forget([tensor])

    def _mark_unspecified(self, refs: Iterable[Ref]) -> None:
        """Mark as unspecified those of the values that the program has names for."""
        self.storages.unspecified.update(r for r in refs if not isinstance(r, GradTensor))

    # -- what was observed --------------------------------------------------------------------------------------------

    def adopt_grads(self, at: int, step: Instruction, observed: StepObservation) -> None:
        """Adopt the gradients that were observed after an instruction."""
        recording = isinstance(step, Backward) and step.create_graph
        not_atomic = recording and not isinstance(observed.outcome, Returned)
        for owner, gradient in observed.gradients.items():
            tensor = self.grads.get(owner)
            assigned = isinstance(step, AssignGrad) and step.leaf == owner
            if gradient is None:
                self._release(tensor)
                self.grads[owner] = None
            elif tensor is not None and not (gradient.value.size or assigned or self._replaces_grad(step, owner)):
                continue  # empty objects are indistinguishable: assume that it is the same one
            elif assigned and tensor is not None and not isinstance(tensor, GradTensor):
                self.identities[owner] = gradient.identity
            else:
                captured = recording and owner in self.captured_inputs - self.retained
                extends = recording and tensor in self.outdated  # the new history contains the old one
                self._adopt_grad(at, owner, gradient, not_atomic or captured or extends)

    def _adopt_grad(self, at: int, owner: Ref, gradient: Gradient, outdated: bool) -> None:
        """Adopt the observed `.grad` of a value, which is the earlier object or a new one. `outdated` marks the history
        of a new object as possibly incomplete.
        """
        tensor, value = self.grads.get(owner), gradient.value.astype(np.float64)
        known = gradient.identity is not None and value.size > 0
        if tensor is not None and known and self.identities.get(owner) == gradient.identity:
            if not is_equal(self.values[tensor], value):
                self.overwrite(at, tensor, value)
            return
        if tensor is not None and not known and value.size:
            self._mark_unspecified(self.storages.aliases(tensor))
        made = self.grads[owner] = self.new_grad_tensor(value)
        self.storages.record_strides(made, value.shape, gradient.strides)
        self.made_by_call.setdefault(at, []).append(made)
        self.identities[owner] = gradient.identity
        self._release(tensor)
        if gradient.memory is not None:
            self.storages.record_memory(made, gradient.memory)
        self._set_history(owner, made)
        if outdated:
            self.outdated.add(made)
