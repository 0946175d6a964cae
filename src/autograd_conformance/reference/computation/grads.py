"""Gradients as values: what values hold, in whose memory, and with what history."""

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
    """The gradients that values hold, as they were observed or as they follow from the calls so far."""

    def __init__(self) -> None:
        super().__init__()
        self.traits = PYTORCH
        """Which of the legal answers the framework gives."""
        self.unobserved: set[Ref] = set()
        """The values that were not looked at when they were made, as within a unit."""
        self.observing = False
        """Whether observations are handed in: then `grads` follows them, else what is held follows from the calls."""
        self.grads: dict[Ref, Ref | None] = {}
        """The gradient that each value holds: a `GradTensor`, or the value of the program that was assigned."""
        self.identities: dict[Ref, int | None] = {}
        """The identity of the object that each value was last seen to hold; None where it is not known."""
        self.histories: dict[Ref, GradientEdge] = {}
        """For each value that holds a differentiable gradient, that gradient's edge."""
        self.outdated: set[Ref] = set()
        """Held gradients whose history may be that of what they were before, or a part of what it should be."""
        self.retained: set[Ref] = set()
        """Values that are no leaves and retain their gradients."""
        self.captured_inputs: set[Ref] = set()
        """Values that are no leaves and were inputs of a call: an implementation may go on to fill their gradients."""
        self.made_by_call: dict[int, list[Ref]] = {}
        """The gradients that each call made."""
        self._contributions: dict[int, dict[Ref, Array]] = {}  # of calls after which more than leaves hold gradients
        self._changing: list[int] = []  # the instructions so far that may change what a leaf holds
        self._scanned = 0  # how many instructions were looked at for these
        self._totals: dict[Ref, tuple[int, Array | None]] = {}  # what follows after so many of them

    @property
    def begins_with_zeros(self) -> bool:
        """Whether leaves that require grad hold zeros before any call."""
        return self.traits.begins_with_zeros

    def grad(self, leaf: Ref) -> Array | None:
        """The gradient that a leaf holds: as it was seen, or as it follows if every call so far was legal."""
        if self.observing:
            held = self.grads.get(leaf)
            return None if held is None else self.values[held]
        new = range(self._scanned, len(self.steps))
        self._changing += [at for at in new if isinstance(self.steps[at], (Backward, ZeroGrad, AssignGrad))]
        self._scanned = len(self.steps)
        since, total = self._totals.get(leaf) or (0, self._first(leaf))
        for at in self._changing[since:]:
            if at not in self.skipped:
                total = self._after(at, self.steps[at], leaf, total)
        self._totals[leaf] = len(self._changing), total
        return total

    def _first(self, leaf: Ref) -> Array | None:
        """What a leaf holds before any call."""
        step = self.steps[leaf.at]
        begins = self.begins_with_zeros and isinstance(step, Leaf) and step.requires_grad
        return np.zeros_like(self.values[leaf]) if begins else None

    def _begin(self, leaf: Ref) -> None:
        """A leaf was made: it holds zeros where leaves do."""
        zeros = self._first(leaf) if self.observing else None
        if zeros is not None:
            self.grads[leaf] = self.new_grad_tensor(zeros)

    def _after(self, at: int, step: Instruction, leaf: Ref, total: Array | None) -> Array | None:
        """What a leaf holds after an instruction, if it held `total` before."""
        due: Array | None = None
        match step:
            case Backward() if at in self._contributions:
                due = self._contributions[at].get(leaf)
            case Backward() if self.requires_grad[leaf] and self.is_legal(step):
                due = self.pullback(step).get(self.edge(leaf))
            case ZeroGrad(leaves, to_none) if leaf in leaves:
                return None if to_none or total is None else np.zeros_like(total)
            case AssignGrad(target, given) if target == leaf:
                return None if given is None else self.values[given]
        return total if due is None else due if total is None else total + due

    # -- calls --------------------------------------------------------------------------------------------------------

    def _call(self, at: int, call: BackwardCall) -> tuple[Array, ...]:
        """Take a backward call; the values that it returns."""
        if not self.observing and not self.is_legal(call):
            return () if isinstance(call, Backward) else self._results(at, call, {}, {})
        created = RecordedBackward(self, at).run(call) if call.create_graph else {}
        if isinstance(call, Grad):
            return self._results(at, call, self.pullback(call), created)
        beyond_leaves = self.edges or call.inputs is not None or self.retained
        if created or beyond_leaves or self.histories or self.observing:
            contributed = self.pullback(call)
            receivers = self.receivers(call, contributed)
            if not self.observing and beyond_leaves:
                self._contributions[at] = {ref: contributed[self.edge(ref)] for ref in receivers}
            for ref in receivers:
                self._accumulate_history(at, call, ref, created)
        return ()

    def _accumulate_history(self, at: int, call: Backward, ref: Ref, created: dict[GradientEdge, GradientEdge]) -> None:
        """A call adds to the gradient of a value: its history and its version are others from now on."""
        held, old = self.grads.get(ref), self.histories.get(ref)
        if call.create_graph:
            new = created[self.edge(ref)]
            self.histories[ref] = new if old is None else self.apply_internal(at, "add", (), (old, new))[0]
            return
        if held is not None:
            self.storages.versions[self.storages.storage(held)] = at
        if old is not None:
            del self.histories[ref]
            if held is not None:
                self.outdated.add(held)

    def receivers(self, call: Backward, due: Mapping[GradientEdge, Array]) -> list[Ref]:
        """The values whose gradients a call adds to; `due` is what it contributes."""
        if call.inputs is not None:
            candidates = [*dict.fromkeys(call.inputs), *(r for r in self.retained if r not in call.inputs)]
        else:
            candidates = [r for r in due if r not in self.producer and self.requires_grad[r] and self.edge(r) == r]
            candidates += self.retained
        return [r for r in candidates if self.edge(r) in due]

    def _gets_new(self, step: Instruction, holder: Ref) -> bool:
        """Whether an instruction is a call that makes a value hold a new gradient."""
        if not isinstance(step, Backward) or not step.create_graph:
            return False
        return holder in self.receivers(step, self.pullback(step))

    def is_legal(self, call: BackwardCall) -> bool:
        """Whether a call can be computed at all: an implementation refuses it otherwise."""
        pairs = zip(call.roots, call.cotangents, strict=True)
        return all(
            self.requires_grad[r]
            and (self.traits.implies(self.values[r].shape) if c is None else c.shape == self.values[r].shape)
            for r, c in pairs
        )

    def _results(
        self, at: int, call: Grad, due: Mapping[GradientEdge, Array], created: dict[GradientEdge, GradientEdge]
    ) -> tuple[Array, ...]:
        made = []
        for k, ref in enumerate(call.inputs):
            edge, out = self.edge(ref), Ref(at, k)
            value = due.get(edge)
            self.values[out] = np.zeros_like(self.values[ref]) if value is None else value
            self.requires_grad[out] = edge in created and self.requires_grad[created[edge]]
            if edge in created:
                self.edges[out] = created[edge]
            made.append(self.values[out])
            self.made_by_call.setdefault(at, []).append(out)
        return tuple(made)

    # -- reading, clearing, assigning ---------------------------------------------------------------------------------

    def _read(self, at: int, leaf: Ref) -> tuple[Array, ...]:
        """The gradient that a leaf holds becomes a value of the program."""
        held = self.grads.get(leaf) if self.observing else None
        if held is None:
            value = self.grad(leaf)
            held = self.new_grad_tensor(np.zeros_like(self.values[leaf]) if value is None else value)
            self._set_history(leaf, held)
        ref = Ref(at)
        self.storages.add_view(ref, Derived(held), restricted=False)
        self.values[ref], self.requires_grad[ref] = self.values[held], self.requires_grad[held]
        self.same_object[ref] = self.same_object.get(held, held)
        if held in self.outdated:
            self.storages.unspecified.add(ref)  # whatever its value
        return (self.values[ref],)

    def _set_history(self, holder: Ref, held: Ref) -> None:
        """A new gradient has the history of what its holder holds."""
        history = self.histories.get(holder)
        if history is not None:
            self.edges[held] = history
            self.requires_grad[held] = self.requires_grad[history]

    def _renew_histories(self, changed: Iterable[Ref]) -> None:
        """Values that hold one of the changed ones as their gradient hold its history as it is now."""
        changed = self.same_objects(changed)
        for holder, held in self.grads.items():
            if held in changed:
                if self.requires_grad[held]:
                    self.histories[holder] = self.edge(held)
                else:
                    self.histories.pop(holder, None)

    def _clear(self, step: ZeroGrad) -> None:
        """Gradients are cleared: to None, or to zeros in place, which makes their histories outdated."""
        for leaf in step.leaves:
            self.histories.pop(leaf, None)
            held = None if step.set_to_none else self.grads.get(leaf)
            if held is None:
                continue
            self.storages.versions[self.storages.storage(held)] = len(self.steps) - 1  # even if it was zeros before
            if self.requires_grad[held]:
                self.outdated.add(held)
                self._leave_unspecified(self.same_objects([held, *self.storages.aliases(held)]))

    def _assign(self, leaf: Ref, given: Ref | None) -> None:
        """A gradient is replaced by a value, by a copy of it, or by none."""
        self.histories.pop(leaf, None)
        self._release(self.grads.get(leaf))
        if given is not None and self.traits.copies:
            self.grads[leaf] = self.new_grad_tensor(self.values[given])
        else:
            self.grads[leaf] = given
            if given is not None and self.requires_grad[given]:
                self.histories[leaf] = self.edge(given)
        self.identities[leaf] = None

    def _release(self, held: Ref | None) -> None:
        """A gradient is no longer held: where the program has no name for it, its memory may be used again."""
        if isinstance(held, GradTensor):
            self.storages.forget([held])

    def _leave_unspecified(self, refs: Iterable[Ref]) -> None:
        """What these values are is unspecified, as far as the program has names for them."""
        self.storages.unspecified.update(r for r in refs if not isinstance(r, GradTensor))

    # -- what was observed --------------------------------------------------------------------------------------------

    def adopt_grads(self, at: int, step: Instruction, seen: StepObservation) -> None:
        """Take over the gradients that were observed after an instruction."""
        recording = isinstance(step, Backward) and step.create_graph
        not_atomic = recording and not isinstance(seen.outcome, Returned)
        for holder, gradient in seen.gradients.items():
            held = self.grads.get(holder)
            assigned = isinstance(step, AssignGrad) and step.leaf == holder
            if gradient is None:
                self._release(held)
                self.grads[holder] = None
            elif held is not None and not (gradient.value.size or assigned or self._gets_new(step, holder)):
                continue  # empty objects cannot be told apart: it is taken for the one that was held
            elif assigned and held is not None and not isinstance(held, GradTensor):
                self.identities[holder] = gradient.identity
            else:
                captured = recording and holder in self.captured_inputs - self.retained
                goes_on = recording and held in self.outdated  # the old history is a part of the new one
                self._adopt_grad(at, holder, gradient, not_atomic or captured or goes_on)

    def _adopt_grad(self, at: int, holder: Ref, gradient: Gradient, outdated: bool) -> None:
        """Take over the gradient that a value holds: the object that it held, or a new one, whose history is `outdated`
        where the call may have left a part of it, or all.
        """
        held, value = self.grads.get(holder), gradient.value.astype(np.float64)
        known = gradient.identity is not None and value.size > 0
        if held is not None and known and self.identities.get(holder) == gradient.identity:
            if not is_equal(self.values[held], value):
                self.overwrite(at, held, value)
            return
        if held is not None and not known and value.size:
            self._leave_unspecified(self.storages.aliases(held))
        made = self.grads[holder] = self.new_grad_tensor(value)
        self.storages.record_strides(made, value.shape, gradient.strides)
        self.made_by_call.setdefault(at, []).append(made)
        self.identities[holder] = gradient.identity
        self._release(held)
        if gradient.memory is not None:
            self.storages.record_memory(made, gradient.memory)
        self._set_history(holder, made)
        if outdated:
            self.outdated.add(made)
