"""Views in the reference: which values may be views, and which views were written to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from autograd_conformance.ops.catalogue import MAY_BE_VIEWS, row_of
from autograd_conformance.ops.rows.row import Certainty
from autograd_conformance.programs.language import Apply, Grad, Instruction, Ref
from autograd_conformance.programs.observations import Returned, StepObservation
from autograd_conformance.reference.computation.memory.storage import Derived, Storages
from autograd_conformance.reference.computation.reverse import GradientEdge
from autograd_conformance.reference.computation.tape import ReferenceTape
from autograd_conformance.reference.computation.value_types import GradTensor


@dataclass(slots=True, eq=False)
class Views:
    """Finds values that are or may be views, and stores in `rebased` the edges of those whose memory was written to."""

    steps: Sequence[Instruction]
    tape: ReferenceTape
    storages: Storages
    rebased: set[GradientEdge] = field(default_factory=set)
    """Edges of views that were written to, or share memory that was written to. Implementations rebuild the history
    of such a view, and whether a later call finds a gradient that flows through the old history is unspecified."""

    def is_gradient(self, ref: Ref) -> bool:
        """Whether a backward call made the value `ref`: a tensor in a `.grad`, or a result of `Grad`."""
        return isinstance(ref, GradTensor) or isinstance(self.steps[ref.at], Grad)

    def may_be_view(self, ref: Ref) -> bool:
        """Whether a value may be a view, even of a tensor that no instruction can access: true of gradients, and of the
        results of some ops.
        """
        ref = self.tape.same_object.get(ref, ref)
        if self.is_gradient(ref):
            return True
        step = self.steps[ref.at]
        return isinstance(step, Apply) and step.op in MAY_BE_VIEWS

    def may_be_written_view(self, ref: Ref) -> bool:
        """Whether the memory of a value was written to, and other values, or internal tensors of an op, may share that
        memory.
        """
        storages = self.storages
        written = storages.storage(ref) in storages.versions
        return written and (self.may_be_view(ref) or len(storages.aliases(ref)) > 1)

    def mark_rebased(self, refs: Iterable[Ref]) -> None:
        """Adds the edges of those of the given values that may be views to `rebased`, because they are written to."""
        self.rebased.update(self.tape.edge(ref) for ref in refs if self.may_be_view(ref))

    def between(self, target: Ref, base: Ref) -> Iterator[Ref]:
        """Yields the values from which a view that was written to was derived, up to its base, without the view and the
        base; and first the base if it may be a view itself.
        """
        if self.may_be_view(base):
            yield base
        derived = self.storages.derived
        while target != base and target in derived:
            target = derived[target].source
            if target != base:
                yield target

    def share(self, step: Apply, outs: tuple[Ref, ...], recording: bool, observed: StepObservation | None) -> None:
        """Records whose storage the results of an op use: as the op table says, as observed, or, before an observation,
        as most frameworks do.
        """
        storages, row = self.storages, row_of(step.op)
        documented = row.aliases is Certainty.ALWAYS
        for k, out in enumerate(outs):
            source: Ref | None = step.args[0] if len(step.args) == 1 or documented else step.args[k % len(step.args)]
            if observed is not None and isinstance(observed.outcome, Returned):
                tensor = observed.outcome.values[k]
                memory = None if tensor is None else tensor.memory
                if memory is not None:
                    ids = storages.ids
                    source = next((r for r in step.args if ids.get(storages.storage(r)) == memory), None)
                elif not documented:
                    source = None
                    storages.add_possible_overlap(out, step.args)
            if source is not None:
                derived = Derived(source, step.op, step.attrs, step.args, k)
                storages.add_view(out, derived, restricted=not recording or row.multi)
