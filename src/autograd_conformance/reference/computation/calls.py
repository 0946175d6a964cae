"""Backward calls in the reference: the values whose `.grad` a call adds to, and the values and histories that a call
makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from autograd_conformance.programs.language import Backward, BackwardCall, Grad, Instruction, Ref
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.memory.grads import Grads
from autograd_conformance.reference.computation.memory.storage import Storages
from autograd_conformance.reference.computation.pullbacks import Pullbacks
from autograd_conformance.reference.computation.recorded_backward import RecordedBackward
from autograd_conformance.reference.computation.reverse import GradientEdge
from autograd_conformance.reference.computation.tape import ReferenceTape
from autograd_conformance.reference.computation.totals import Totals
from autograd_conformance.reference.staging.derivatives import Array


@dataclass(slots=True, eq=False)
class Calls:
    """Carries out backward calls in the reference, and stores which values other than leaves receive gradients."""

    tape: ReferenceTape
    storages: Storages
    pullbacks: Pullbacks
    grads: Grads
    totals: Totals
    retained: set[Ref] = field(default_factory=set)
    """Non-leaf values for which `retain_grad` was called."""
    captured_inputs: set[Ref] = field(default_factory=set)
    """Non-leaf values that were `inputs` of a backward call: later calls may accumulate into the `.grad` of such
    values, too."""

    def call(self, at: int, call: BackwardCall, observing: bool) -> tuple[Array, ...]:
        """Carries out instruction `at`, a backward call, and returns the values that it makes. `observing` is true if
        the `.grad` of values are adopted from observations instead.
        """
        tape = self.tape
        if not observing and not self.pullbacks.is_legal(call):
            return () if isinstance(call, Backward) else self._results(at, call, {}, {})
        created = RecordedBackward(tape, self.pullbacks.hooks, at).run(call) if call.create_graph else {}
        if isinstance(call, Grad):
            return self._results(at, call, self.pullbacks.of(call), created)
        not_only_leaves = tape.edges or call.inputs is not None or self.retained
        if created or not_only_leaves or self.grads.histories or observing:
            contributed = self.pullbacks.of(call)
            receivers = self.receivers(call, contributed)
            if not observing and not_only_leaves:
                self.totals.contributions[at] = {ref: contributed[tape.edge(ref)] for ref in receivers}
            for ref in receivers:
                self._accumulate_history(at, call, ref, created)
        return ()

    def receivers(self, call: Backward, contributed: Mapping[GradientEdge, Array]) -> list[Ref]:
        """Returns the values whose `.grad` a call adds to; `contributed` maps edges to the call's contributions."""
        tape = self.tape
        if call.inputs is not None:
            candidates = [*dict.fromkeys(call.inputs), *(r for r in self.retained if r not in call.inputs)]
        else:
            candidates = [
                r for r in contributed if r not in tape.producer and tape.requires_grad[r] and tape.edge(r) == r
            ]
            candidates += self.retained
        return [r for r in candidates if tape.edge(r) in contributed]

    def replaces_grad(self, step: Instruction, owner: Ref) -> bool:
        """Whether an instruction is a backward call with create_graph that adds to the `.grad` of `owner`, and so
        replaces it.
        """
        if not isinstance(step, Backward) or not step.create_graph:
            return False
        return owner in self.receivers(step, self.pullbacks.of(step))

    def _accumulate_history(self, at: int, call: Backward, ref: Ref, created: dict[GradientEdge, GradientEdge]) -> None:
        """Updates the history and the version of a value's `.grad` after a call added to it; `created` has the recorded
        gradient of each edge.
        """
        grads = self.grads
        tensor, old = grads.tensors.get(ref), grads.histories.get(ref)
        if call.create_graph:
            new = created[self.tape.edge(ref)]
            grads.histories[ref] = new if old is None else self.tape.apply(at, "add", (), (old, new))[0]
            return
        if tensor is not None:
            self.storages.versions[self.storages.storage(tensor)] = at
        if old is not None:
            del grads.histories[ref]
            if tensor is not None:
                grads.outdated.add(tensor)

    def _results(
        self, at: int, call: Grad, contributed: Mapping[GradientEdge, Array], created: dict[GradientEdge, GradientEdge]
    ) -> tuple[Array, ...]:
        tape, made = self.tape, []
        for k, ref in enumerate(call.inputs):
            edge, out = tape.edge(ref), Ref(at, k)
            value = contributed.get(edge)
            tape.values[out] = np.zeros_like(tape.values[ref]) if value is None else value
            tape.requires_grad[out] = edge in created and tape.requires_grad[created[edge]]
            if edge in created:
                tape.edges[out] = created[edge]
            made.append(tape.values[out])
            self.grads.made_by_call.setdefault(at, []).append(out)
        return tuple(made)
