"""Adoption: the reference replaces its values and gradients by those that the framework returned, and continues from
these where several outcomes are legal.
"""

from __future__ import annotations

from autograd_conformance.programs.language import (
    WRITING,
    Apply,
    AssignGrad,
    Backward,
    Grad,
    InPlace,
    Instruction,
    Modes,
    Ref,
)
from autograd_conformance.programs.observations import Gradient, Raised, Returned, StepObservation, Tensor
from autograd_conformance.programs.operands import results
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.memory.storage import Derived
from autograd_conformance.reference.computation.value_types import GradTensor
from autograd_conformance.reference.domains import is_smooth
from autograd_conformance.reference.equality import is_equal
from autograd_conformance.reference.reference import Reference


def outputs(at: int, step: Instruction) -> list[Ref]:
    """Returns the names of the values that an instruction makes."""
    return [Ref(at, k) for k in range(results(step))]


def record_step(reference: Reference, at: int, step: Instruction, modes: Modes, observed: StepObservation) -> None:
    """Carries out in the reference an instruction that returned, or records one that raised or was not run; then adopts
    the observation.
    """
    if isinstance(observed.outcome, Returned):
        add_step(reference, at, step, modes, observed)
        adopt_observed(reference, at, step, observed)
    else:
        skip_step(reference, at, step, observed)


def add_step(reference: Reference, at: int, step: Instruction, modes: Modes, observed: StepObservation) -> None:
    """Carries out in the reference an instruction that returned, and marks its results as unspecified if the op is
    not smooth at its operands.
    """
    if not is_smooth(step, reference.values):
        storages = reference.storages
        if isinstance(step, InPlace):
            storages.unspecified.update(storages.aliases(step.target))
        else:
            storages.mark_outside_domain(outputs(at, step))
    reference.add(step, modes, observed)


def skip_step(reference: Reference, at: int, step: Instruction, observed: StepObservation) -> None:
    """Records in the reference an instruction that raised or was not run, and adopts the `.grad` observed after one
    that raised.
    """
    reference.skip(step)
    if isinstance(observed.outcome, Raised):
        adopt_grads(reference, at, step, observed)


def adopt_observed(reference: Reference, at: int, step: Instruction, observed: StepObservation) -> None:
    """Replaces the reference's values and gradients by those observed after an instruction, so that a rounding error
    counts only once.
    """
    values = reference.values
    if not observed.region:  # a module may have moved its operands, and a write its target
        for ref, existing in observed.values.items():
            reference.storages.note_move(ref, existing.memory)
    if isinstance(step, Grad) and isinstance(observed.outcome, Returned):
        _record_same_objects(reference, at, step, observed.outcome)
    if isinstance(observed.outcome, Returned) and not isinstance(step, WRITING):
        for ref, tensor in zip(outputs(at, step), observed.outcome.values, strict=False):
            if tensor is None and not isinstance(step, Grad):
                reference.unobserved.add(ref)
            elif tensor is not None and ref in values:
                values[ref] = tensor.value.astype(np.float64)
                _record_layout(reference, ref, tensor)
    for ref in filter(reference.is_random, reference.unobserved.intersection(observed.values)):
        reference.storages.unspecified.discard(ref)  # a region's random value is known once the region has returned it
    for ref in reference.unobserved.intersection(observed.values) - reference.storages.unspecified:
        _record_layout(reference, ref, observed.values[ref])
    if isinstance(step, Apply) and not observed.region:
        return  # the elements of a module's operands were not checked
    for ref, tensor in observed.values.items():
        if ref in values:
            values[ref] = tensor.value.astype(np.float64)
    shown = reference.unobserved.intersection(observed.values)
    reference.unobserved -= shown
    reference.shown_late.update(dict.fromkeys(shown, at))
    adopt_grads(reference, at, step, observed)


def _record_layout(reference: Reference, ref: Ref, tensor: Tensor) -> None:
    """Records the observed memory and strides of the value `ref`, which was observed for the first time."""
    storages = reference.storages
    storages.record_strides(ref, tensor.value.shape, tensor.strides)
    if tensor.memory is not None and storages.storage(ref) not in storages.ids:
        storages.record_memory(ref, tensor.memory)


def _record_same_objects(reference: Reference, at: int, step: Grad, outcome: Returned) -> None:
    """Records that an input listed twice in a call of `Grad` got the same object in both places, if the observed memory
    says so. It is unknown if the framework does not report memory.
    """
    first: dict[Ref, int] = {}
    for k, (ref, tensor) in enumerate(zip(step.inputs, outcome.values, strict=True)):
        j = first.setdefault(reference.tape.edge(ref), k)
        other = outcome.values[j]
        if j == k or tensor is None or other is None:
            continue
        if tensor.memory is None or not tensor.value.size:  # empty tensors share memory unobservably
            reference.storages.unspecified.update((Ref(at, j), Ref(at, k)))
            continue
        if tensor.memory != other.memory:
            continue
        reference.storages.add_view(Ref(at, k), Derived(Ref(at, j)), restricted=False)
        reference.tape.same_object[Ref(at, k)] = Ref(at, j)


# -- gradients ---------------------------------------------------------------------------------------------------------


def adopt_grads(reference: Reference, at: int, step: Instruction, observed: StepObservation) -> None:
    """Replaces the reference's `.grad` of each value by the one observed after an instruction."""
    grads, calls = reference.grads, reference.calls
    recording = isinstance(step, Backward) and step.create_graph
    functional = isinstance(step, Grad) and step.create_graph  # it may fill what retains its gradient, with a history
    not_atomic = recording and not isinstance(observed.outcome, Returned)
    for owner, gradient in observed.gradients.items():
        tensor = grads.tensors.get(owner)
        assigned = isinstance(step, AssignGrad) and step.leaf == owner
        if gradient is None:
            grads.release(tensor)
            grads.tensors[owner] = None
        elif tensor is not None and not (gradient.value.size or assigned or calls.replaces_grad(step, owner)):
            continue  # empty objects are indistinguishable: assume that it is the same one
        elif assigned and tensor is not None and not isinstance(tensor, GradTensor):
            grads.identities[owner] = gradient.identity
        else:
            captured = recording and owner in calls.captured_inputs - calls.retained
            extends = recording and tensor in grads.outdated  # the new history contains the old one
            replaces = gradient.identity is not None and _meets_history(reference, step, tensor)
            outdated = functional or not_atomic or captured or extends or replaces
            _adopt_grad(reference, at, owner, gradient, outdated)


def _meets_history(reference: Reference, step: Instruction, tensor: Ref | None) -> bool:
    """Whether a call that records nothing meets a `.grad` with a history. It has to add to it in place; a framework
    that makes a new object instead may keep the history or lose it.
    """
    records = not isinstance(step, Backward) or step.create_graph
    if records or tensor is None:
        return False
    return reference.requires_grad[tensor] or tensor in reference.grads.outdated


def _adopt_grad(reference: Reference, at: int, owner: Ref, gradient: Gradient, outdated: bool) -> None:
    """Adopts the observed `.grad` of a value, which is the earlier object or a new one. `outdated` marks the history of
    a new object as possibly incomplete.
    """
    grads, storages = reference.grads, reference.storages
    tensor, value = grads.tensors.get(owner), gradient.value.astype(np.float64)
    known = gradient.identity is not None and value.size > 0
    if tensor is not None and known and grads.identities.get(owner) == gradient.identity:
        if not is_equal(reference.values[tensor], value):
            reference.writes.overwrite(at, tensor, value)
        return
    if tensor is not None and not known and value.size:
        grads.mark_unspecified(storages.aliases(tensor))
    made = grads.tensors[owner] = grads.represent(owner, value)
    storages.record_strides(made, value.shape, gradient.strides)
    grads.made_by_call.setdefault(at, []).append(made)
    grads.identities[owner] = gradient.identity
    grads.release(tensor)
    if gradient.memory is not None:
        storages.record_memory(made, gradient.memory)
    if outdated:
        grads.outdated.add(made)
