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


def can_adopt_call(judging: Judging, traced: TraceStep) -> bool:
    """Whether judging can continue after a call whose effects are unspecified, with the observed gradients."""
    if not judging.stateful or not isinstance(traced.step, (Backward, Grad)):
        return False
    if isinstance(traced.observed.outcome, Raised):
        return traced.observed.outcome.kind in traced.expectation.raises
    # else the part of the graph that it goes through is unspecified, too
    return not goes_through_views_of_toggled(judging.tape, traced.expectation.traversal)


def adopt_call(judging: Judging, traced: TraceStep) -> None:
    """Adopts the observed gradients of a call whose effects are unspecified."""
    judging.adopted += 1
    step, reference = traced.step, judging.reference
    assert isinstance(step, (Backward, Grad))
    if isinstance(traced.observed.outcome, Raised):
        skip_step(reference, traced.at, step, traced.observed)
        return
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


def has_known_outcome(judging: Judging, step: Instruction) -> bool:
    """True if the rules say whether a call returns or raises, although they do not specify its gradients."""
    if judging.unspecified or judging.reference.unspecified or not isinstance(step, (Backward, Grad)):
        return False
    return judging.reference.storages.uses_only_elements(step)


def can_adopt_results(judging: Judging, step: Instruction) -> bool:
    """Whether judging can continue after an instruction that uses unspecified values, with its observed results: after
    an op or a detach.
    """
    reference = judging.reference
    if judging.unspecified or reference.unspecified or not isinstance(step, (Apply, Detach)):
        return False
    return not reference.storages.views_of_toggled.intersection(operands(step))


def adopt_results(judging: Judging, traced: TraceStep) -> None:
    """Adopts the observed results of an op or a detach of unspecified values."""
    judging.adopted += 1
    step, storages = traced.step, judging.reference.storages
    traced.compute_expectation()
    made, elements = outputs(traced.at, step), storages.uses_only_elements(step)
    record_step(judging.reference, traced.at, step, traced.modes, traced.observed)
    storages.unspecified.update(made)
    if elements:
        storages.mark_outside_domain(made)
