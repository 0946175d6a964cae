"""Adoption of observations: the reference continues from what the framework did where several outcomes are legal."""

from __future__ import annotations

from autograd_conformance.programs.language import WRITING, Grad, InPlace, Instruction, Modes, Ref
from autograd_conformance.programs.observations import Raised, Returned, StepObservation, Tensor
from autograd_conformance.programs.operands import results
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.computation.storage import Derived
from autograd_conformance.reference.domains import in_domain
from autograd_conformance.reference.reference import Reference


def outputs(at: int, step: Instruction) -> list[Ref]:
    """The values that an instruction makes."""
    return [Ref(at, k) for k in range(results(step))]


def record_step(reference: Reference, at: int, step: Instruction, modes: Modes, observed: StepObservation) -> None:
    """Record an instruction and its observation in the reference."""
    if isinstance(observed.outcome, Returned):
        add_step(reference, at, step, modes, observed)
        adopt_observed(reference, at, step, observed)
    else:
        skip_step(reference, at, step, observed)


def add_step(reference: Reference, at: int, step: Instruction, modes: Modes, observed: StepObservation) -> None:
    """Compute in the reference what an instruction that returned had to do."""
    if not in_domain(step, reference.values):
        storages = reference.storages
        if isinstance(step, InPlace):
            storages.unspecified.update(storages.aliases(step.target))
        else:
            storages.mark_outside_domain(outputs(at, step))
    reference.add(step, modes, observed)


def skip_step(reference: Reference, at: int, step: Instruction, observed: StepObservation) -> None:
    """Record in the reference an instruction that raised or was not run."""
    reference.skip(step)
    if isinstance(observed.outcome, Raised):
        reference.adopt_grads(at, step, observed)


def adopt_observed(reference: Reference, at: int, step: Instruction, observed: StepObservation) -> None:
    """Replace the reference's values by the observed ones, so that a rounding error counts only once."""
    values = reference.values
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
    for ref, tensor in observed.values.items():
        if ref in values:
            values[ref] = tensor.value.astype(np.float64)
    reference.unobserved.difference_update(observed.values)
    reference.adopt_grads(at, step, observed)


def _record_layout(reference: Reference, ref: Ref, tensor: Tensor) -> None:
    """Record the observed memory and strides of a new value."""
    storages = reference.storages
    storages.record_strides(ref, tensor.value.shape, tensor.strides)
    if tensor.memory is not None and storages.storage(ref) not in storages.ids:
        storages.record_memory(ref, tensor.memory)


def _record_same_objects(reference: Reference, at: int, step: Grad, outcome: Returned) -> None:
    """Record that an input listed twice got the same object in both places, if it did."""
    first: dict[Ref, int] = {}
    for k, (ref, tensor) in enumerate(zip(step.inputs, outcome.values, strict=True)):
        j = first.setdefault(reference.edge(ref), k)
        other = outcome.values[j]
        if j == k or tensor is None or other is None:
            continue
        if not tensor.value.size:
            reference.storages.unspecified.update((Ref(at, j), Ref(at, k)))  # empty tensors share memory unobservably
            continue
        if tensor.memory is None or tensor.memory != other.memory:
            continue
        reference.storages.add_view(Ref(at, k), Derived(Ref(at, j)), restricted=False)
        reference.same_object[Ref(at, k)] = Ref(at, j)
