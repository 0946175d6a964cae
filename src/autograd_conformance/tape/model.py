"""The model of the tape: for each instruction, the outcomes that the rules allow, each with the rule that allows it.

The model is stepped through a program together with an observation of it. `expect` returns the outcomes that are
allowed for an instruction; `record` updates the model with the outcome that was observed. Where the rules allow several
outcomes, model and framework therefore never diverge.

The reference stores the recorded graph. The tape adds what happened to it later: a `Node` for each tape entry, which
knows whether its saved tensors were freed (certainly, possibly or never), and the gradient that each value was last
observed to hold.
"""

from __future__ import annotations

from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.ops.tables import OPS
from autograd_conformance.programs.language import (
    Apply,
    Backward,
    BackwardCall,
    Detach,
    Grad,
    Instruction,
    Leaf,
    Modes,
    ReadGrad,
    Ref,
    SetRequiresGrad,
    Step,
    is_recorded,
)
from autograd_conformance.programs.observations import Gradient, Outcome, Raised, Returned, Skipped, StepObservation
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.tape.expectation.backward_calls import RAISED_MIDWAY
from autograd_conformance.tape.expectation.outcomes import expectation_of
from autograd_conformance.tape.graph import Expectation, Traversal
from autograd_conformance.tape.state import TapeState


class Tape(TapeState):
    """The model of what a framework recorded: `expect` returns the allowed outcomes, `record` updates the model with
    the observed one.
    """

    def expect(self, at: int, step: Instruction, modes: Modes = ()) -> Expectation:
        """Returns the outcomes that the rules allow for instruction `at`."""
        return expectation_of(self, step, modes)

    def record(
        self, at: int, step: Instruction, expectation: Expectation, observed: StepObservation, modes: Modes = ()
    ) -> None:
        """Update the model with the observed outcome of instruction `at`."""
        self._traversals.clear()
        returned = isinstance(observed.outcome, Returned)
        match step:
            case Leaf(value, requires_grad):
                self.leaves[Ref(at)] = step
                if self.reference.traits.begins_with_zeros and requires_grad:
                    self.grads[Ref(at)] = Gradient(np.zeros(value.shape), value.dtype)
            case Detach(source):
                self.detached[Ref(at)] = source
            case Apply():
                if not is_recorded(modes):
                    self.unrecorded.update(Ref(at, k) for k in range(step.results))
                if self.reference.traits.use_clears and returned:
                    self._use(step, modes)
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
            case _:
                pass  # the reference knows the effects of all others
        if isinstance(observed.outcome, Raised):
            self.failed = True
        if observed.gradients:
            self.actions += 1
            self.grads = dict(observed.gradients)

    def _use(self, step: Apply, modes: Modes) -> None:
        """Clear the gradients of an op's operands, in a framework where use clears them; those of an op that returns a
        view, or is not recorded, may stay.
        """
        self.used.update(step.args)
        if is_recorded(modes) and OPS[step.op].aliases is Certainty.NEVER:
            self.grads.update(dict.fromkeys(self.reference.tape.same_objects(step.args) & self.grads.keys()))

    def sync_grads(self, observed: StepObservation) -> None:
        """Adopt changes of `.grad` that no instruction caused: the zeros that new leaves hold in some frameworks, and
        gradients that the framework cleared because their holders were used.
        """
        for ref, gradient in observed.gradients.items():
            if self.reference.traits.begins_with_zeros and ref not in self.grads:
                if gradient is not None and not gradient.value.any():
                    self.grads[ref] = gradient
            elif gradient is None and ref in self.used:
                self.grads[ref] = None
        if observed.gradients:
            self.used.clear()

    def _sync_read_gradient(self, made: Ref) -> None:
        """Give a value that `ReadGrad` made the `.grad` that the other names of the same object have."""
        reference, calls = self.reference, self.reference.calls
        for other in reference.tape.same_objects([made]):
            if self.grads.get(other) is not None:
                self.grads[made] = self.grads[other]
            if other in reference.storages.deleted and other in calls.retained | calls.captured_inputs:
                reference.storages.unspecified.add(made)  # its gradient was observed under a name that is deleted

    def _record_call(self, at: int, call: BackwardCall, expectation: Expectation, outcome: Outcome) -> None:
        """Update the nodes with the outcome of a backward call: how often they were traversed, and whether they are
        freed.
        """
        if isinstance(outcome, Skipped):
            return
        reference = self.reference
        if isinstance(call, Backward) and call.inputs is not None:
            reference.calls.captured_inputs.update(r for r in call.inputs if not reference.tape.is_leaf(r))
        roots = [reference.tape.edge(r) for r in call.roots]
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
        """Mark all nodes of the regions (compiled or checkpointed functions) that a call entered as possibly freed."""
        for region in {region for node in traversal.all_nodes if (region := self.region(node))}:
            for node in self.region_nodes(region):
                if node.freed is Certainty.NEVER:
                    node.free(Certainty.MAYBE, at)
