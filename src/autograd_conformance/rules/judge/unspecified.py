"""Judging after unspecified behaviour: the observed state is adopted where nothing else can depend on it."""

from __future__ import annotations

from autograd_conformance.programs.language import Apply, Backward, Detach, Grad, Instruction
from autograd_conformance.programs.observations import Raised
from autograd_conformance.programs.operands import operands
from autograd_conformance.reference.adoption import outputs, record_step, skip_step
from autograd_conformance.rules.judge.checks.contributions import is_unchanged
from autograd_conformance.rules.judge.state import Judging
from autograd_conformance.tape.expectation.unspecified import goes_through_views_of_toggled
from autograd_conformance.tape.trace import TraceStep


def adopt_unspecified_call(judging: Judging, traced: TraceStep) -> bool:
    """Adopts the observed gradients of a call whose gradients are unspecified; returns whether judging can continue."""
    step, reference = traced.step, judging.reference
    if not judging.stateful or not isinstance(step, (Backward, Grad)):
        return False
    if isinstance(traced.observed.outcome, Raised):
        skip_step(reference, traced.at, step, traced.observed)
        return traced.observed.outcome.kind in traced.expectation.raises
    if goes_through_views_of_toggled(judging.tape, traced.expectation.traversal):
        return False  # the part of the graph that it goes through is unspecified, too
    recorded = {*reference.grads.histories}
    record_step(reference, traced.at, step, traced.modes, traced.observed)
    changed = {
        leaf for leaf, got in traced.observed.gradients.items() if not is_unchanged(judging.tape.grads.get(leaf), got)
    }
    for leaf in recorded | (changed if step.create_graph else set()):
        held = reference.grads.tensors.get(leaf)
        if held is not None:
            reference.grads.outdated.add(held)
    if isinstance(step, Grad) and step.create_graph:
        reference.storages.unspecified.update(outputs(traced.at, step))
    return True


def has_known_outcome(judging: Judging, step: Instruction) -> bool:
    """True if the rules say whether a call returns or raises, although they do not specify its gradients."""
    if judging.unspecified or judging.reference.unspecified or not isinstance(step, (Backward, Grad)):
        return False
    return judging.reference.storages.uses_only_elements(step)


def adopt_unspecified_values(judging: Judging, traced: TraceStep) -> bool:
    """Adopts the observed results of an op or a detach of unspecified values; returns whether judging can continue."""
    step, reference = traced.step, judging.reference
    if judging.unspecified or reference.unspecified or not isinstance(step, (Apply, Detach)):
        return False
    if reference.storages.views_of_toggled.intersection(operands(step)):
        return False
    _ = traced.expectation  # computed before the reference records the instruction
    made, elements = outputs(traced.at, step), reference.storages.uses_only_elements(step)
    record_step(reference, traced.at, step, traced.modes, traced.observed)
    reference.storages.unspecified.update(made)
    if elements:
        reference.storages.mark_outside_domain(made)
    return True
