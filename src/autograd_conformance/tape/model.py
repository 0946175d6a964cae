"""The model of the tape: for each instruction, the outcomes that the rules allow, each with the rule that it rests on.

The model goes through a program beside an observation. `expect` says what may happen at an instruction; `advance` takes
what did happen and goes on from there, so that a choice that the rules leave open never desynchronises the two.

The reference keeps what was recorded; the tape adds what became of it: for each entry a `Node` that knows whether what
it saved has been freed, always or maybe, and the gradients that were last seen.
"""

from __future__ import annotations

from typing import assert_never

from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.programs.language import (
    Apply,
    AssignGrad,
    Backward,
    BackwardCall,
    Clip,
    DefaultDtype,
    Delete,
    Detach,
    DetachInPlace,
    Grad,
    Hook,
    InPlace,
    Instruction,
    Leaf,
    Modes,
    Optimizer,
    ReadGrad,
    Ref,
    RemoveHook,
    RetainGrad,
    SetRequiresGrad,
    Step,
    ZeroGrad,
    is_recorded,
)
from autograd_conformance.programs.observations import Gradient, Outcome, Raised, Returned, Skipped, StepObservation
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.tape.expectation.backward_calls import RAISED_MIDWAY
from autograd_conformance.tape.expectation.outcomes import expectation_of
from autograd_conformance.tape.graph import Expectation, Traversal
from autograd_conformance.tape.state import TapeState


class Tape(TapeState):
    """The model: `expect` says what may happen, `advance` takes what did."""

    def expect(self, at: int, step: Instruction, modes: Modes = ()) -> Expectation:
        """The outcomes that the rules allow for instruction `at`."""
        return expectation_of(self, step, modes)

    def record(
        self, at: int, step: Instruction, expectation: Expectation, observed: StepObservation, modes: Modes = ()
    ) -> None:
        """Take the outcome that was observed and go on from there."""
        self._traversals.clear()
        returned = isinstance(observed.outcome, Returned)
        match step:
            case Leaf(value, requires_grad):
                self.leaves[Ref(at)] = step
                if self.reference.begins_with_zeros and requires_grad:
                    self.grads[Ref(at)] = Gradient(np.zeros(value.shape), value.dtype)
            case Detach(source):
                self.detached[Ref(at)] = source
            case Apply():
                if not is_recorded(modes):
                    self.unrecorded.update(Ref(at, k) for k in range(step.results))
                if self.reference.traits.use_clears:
                    self.used.update(step.args)
            case Backward() | Grad():
                self._record_call(at, step, expectation, observed.outcome)
            case ReadGrad():
                if returned:
                    self._sync_read_gradient(Ref(at))
            case SetRequiresGrad(target, on):
                if on and returned:
                    self.detached.pop(target, None)
            case Step():
                for leaf in step.leaves if returned else ():
                    self.moved.setdefault((step, leaf), []).append(self.grads.get(leaf) is not None)
            case InPlace() | DetachInPlace() | RetainGrad() | Hook() | RemoveHook() | ZeroGrad() | AssignGrad():
                pass
            case Optimizer() | Clip() | Delete() | DefaultDtype():
                pass
            case _:
                assert_never(step)
        if isinstance(observed.outcome, Raised):
            self.failed = True
        if observed.gradients:
            self.actions += 1
            self.grads = dict(observed.gradients)

    def sync_grads(self, observed: StepObservation) -> None:
        """Take what an instruction is not answerable for: gradients of zeros that are seen for the first time, where
        leaves begin with zeros, and those that are gone because their holders were used.
        """
        for ref, gradient in observed.gradients.items():
            if self.reference.begins_with_zeros and ref not in self.grads:
                if gradient is not None and not gradient.value.any():
                    self.grads[ref] = gradient
            elif gradient is None and ref in self.used:
                self.grads[ref] = None
        if observed.gradients:
            self.used.clear()

    def _sync_read_gradient(self, made: Ref) -> None:
        """A gradient that was read is one object with others: it holds the gradient that they hold."""
        reference = self.reference
        for other in reference.same_objects([made]):
            if self.grads.get(other) is not None:
                self.grads[made] = self.grads[other]
            if other in reference.storages.deleted and other in reference.retained | reference.captured_inputs:
                reference.storages.unspecified.add(made)  # what it holds was seen under a name that is deleted

    def _record_call(self, at: int, call: BackwardCall, expectation: Expectation, outcome: Outcome) -> None:
        """Take the outcome of a backward call: what it went through, and what it freed."""
        if isinstance(outcome, Skipped):
            return
        reference = self.reference
        if isinstance(call, Backward) and call.inputs is not None:
            reference.captured_inputs.update(r for r in call.inputs if not reference.is_leaf(r))
        roots = [reference.edge(r) for r in call.roots]
        if isinstance(outcome, Raised) and outcome.kind in expectation.raises and outcome.kind not in RAISED_MIDWAY:
            self.refused.update(roots)
            return
        self.roots.update(dict.fromkeys(roots, at))
        if call.retain_graph is None and not call.create_graph:
            self.by_default.add(at)
        traversal = expectation.traversal
        if not call.retains:
            self._free_regions(at, traversal)
        for node in traversal.maybe_nodes:
            if not call.retains and node.freed is Certainty.NEVER:
                node.free(Certainty.MAYBE, at)
        for node in traversal.nodes:
            node.traversals += 1
            if call.retains:
                node.was_retained = True
            elif isinstance(outcome, Returned) and self.frees and node not in traversal.partial_nodes:
                node.free(Certainty.ALWAYS, at)
            elif node.freed is Certainty.NEVER:
                node.free(Certainty.MAYBE, at)

    def _free_regions(self, at: int, traversal: Traversal) -> None:
        """A call through a part of a unit may free all of it."""
        for region in {region for node in traversal.all_nodes if (region := self.region(node))}:
            for node in self.region_nodes(region):
                if node.freed is Certainty.NEVER:
                    node.free(Certainty.MAYBE, at)
