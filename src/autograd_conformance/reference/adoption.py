"""Observations handed to the reference, where what is right depends on what the framework chose to do."""

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


def record_step(reference: Reference, at: int, step: Instruction, modes: Modes, seen: StepObservation) -> None:
    """Let the reference take an instruction, and what was seen of it."""
    if isinstance(seen.outcome, Returned):
        add_step(reference, at, step, modes, seen)
        adopt_observed(reference, at, step, seen)
    else:
        skip_step(reference, at, step, seen)


def add_step(reference: Reference, at: int, step: Instruction, modes: Modes, seen: StepObservation) -> None:
    """Let the reference compute what an instruction that returned had to do."""
    if not in_domain(step, reference.values):
        storages = reference.storages
        if isinstance(step, InPlace):
            storages.unspecified.update(storages.aliases(step.target))
        else:
            storages.mark_outside_domain(outputs(at, step))
    reference.add(step, modes, seen)


def skip_step(reference: Reference, at: int, step: Instruction, seen: StepObservation) -> None:
    """Go on after an instruction that raised, or could not be run."""
    reference.skip(step)
    if isinstance(seen.outcome, Raised):
        reference.adopt_grads(at, step, seen)


def adopt_observed(reference: Reference, at: int, step: Instruction, seen: StepObservation) -> None:
    """Go on from what was seen, so that no rounding is held against the framework twice."""
    values = reference.values
    if isinstance(step, Grad) and isinstance(seen.outcome, Returned):
        _unite(reference, at, step, seen.outcome)
    if isinstance(seen.outcome, Returned) and not isinstance(step, WRITING):
        for ref, tensor in zip(outputs(at, step), seen.outcome.values, strict=False):
            if tensor is None and not isinstance(step, Grad):
                reference.unobserved.add(ref)
            elif tensor is not None and ref in values:
                values[ref] = tensor.value.astype(np.float64)
                _place(reference, ref, tensor)
    for ref in filter(reference.is_random, reference.unobserved.intersection(seen.values)):
        reference.storages.unspecified.discard(ref)  # what a unit drew is known when the unit has given it out
    for ref in reference.unobserved.intersection(seen.values) - reference.storages.unspecified:
        _place(reference, ref, seen.values[ref])
    for ref, tensor in seen.values.items():
        if ref in values:
            values[ref] = tensor.value.astype(np.float64)
    reference.unobserved.difference_update(seen.values)
    reference.adopt_grads(at, step, seen)


def _place(reference: Reference, ref: Ref, tensor: Tensor) -> None:
    """Note where a new value was seen to lie."""
    storages = reference.storages
    storages.record_strides(ref, tensor.value.shape, tensor.strides)
    if tensor.memory is not None and storages.storage(ref) not in storages.ids:
        storages.record_memory(ref, tensor.memory)


def _unite(reference: Reference, at: int, step: Grad, outcome: Returned) -> None:
    """An input that is listed twice may get one object in both places."""
    first: dict[Ref, int] = {}
    for k, (ref, tensor) in enumerate(zip(step.inputs, outcome.values, strict=True)):
        j = first.setdefault(reference.edge(ref), k)
        other = outcome.values[j]
        if j == k or tensor is None or other is None:
            continue
        if not tensor.value.size:
            reference.storages.unspecified.update((Ref(at, j), Ref(at, k)))  # nobody sees whose memory it is
            continue
        if tensor.memory is None or tensor.memory != other.memory:
            continue
        reference.storages.add_view(Ref(at, k), Derived(Ref(at, j)), restricted=False)
        reference.same_object[Ref(at, k)] = Ref(at, j)
