"""Comparison of the observations of two programs: equal bit for bit, of the same form, or equal within bounds."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from itertools import combinations

from autograd_conformance.programs.dtypes import DTYPES
from autograd_conformance.programs.language import Apply, Backward, Detach, Grad, Hook, Program, Ref, ZeroGrad
from autograd_conformance.programs.observations import Observation, Returned, StepObservation, Tensor
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.programs.regions import observed_regions, region_key
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.rounding.bounds import forward_bound, gradient_bound, working_dtype
from autograd_conformance.reference.staging.derivatives import Array
from autograd_conformance.rules.violations.pairs import ObservedValue
from autograd_conformance.tape.trace import trace


def same(left: ObservedValue, right: ObservedValue) -> bool:
    """Whether two values have the same form and are equal bit for bit, except for the sign of zero."""
    if left is None or right is None:
        return left is right
    return same_form(left, right) and np.array_equal(left.value, right.value, equal_nan=True)


def same_form(left: ObservedValue, right: ObservedValue) -> bool:
    """Whether two values agree in dtype, shape and `requires_grad`; a flag that cannot be observed counts as false."""
    if left is None or right is None:
        return left is right
    flags = bool(left.requires_grad), bool(right.requires_grad)
    return left.dtype == right.dtype and left.value.shape == right.value.shape and flags[0] == flags[1]


def final_gradient(program: Program, observation: Observation, ref: Ref) -> ObservedValue:
    """Returns the gradient that a value holds at the end of a program, or, for a result of the functional form, that
    result; None if there is none.
    """
    outcome = observation[ref.at].outcome
    if isinstance(program[ref.at], Grad):
        return outcome.values[ref.output] if isinstance(outcome, Returned) else None
    return next((observed.gradients[ref] for observed in reversed(observation) if ref in observed.gradients), None)


def hook_arguments(observed: StepObservation) -> dict[Ref, ObservedValue]:
    """Returns the gradient with which an instruction last called each hook."""
    return {f.hook: None if f.value is None else Tensor(f.value, f.value.dtype.name, None) for f in observed.fired}


def share_gradients(observation: Observation) -> bool:
    """Whether two values held the same gradient object after some instruction of the observed program."""
    for observed in observation:
        objects = [g.identity for g in observed.gradients.values() if g is not None and g.value.size]
        if any(one == other is not None for one, other in combinations(objects, 2)):
            return True
    return False


def slack(program: Program, observation: Observation, ref: Ref) -> Array:
    """Returns the rounding bound of the gradient that a value holds at the end of a program, or that the functional
    form returned.
    """
    reference, dtype = Reference(), working_dtype(program)
    reference.observing = True
    total: Array = np.zeros(())
    for traced in trace(program, observation, reference, None, follows=True):
        step, observed = traced.step, traced.observed
        if isinstance(step, Backward) and isinstance(observed.outcome, Returned) and ref in reference.values:
            held = observed.gradients.get(ref)
            total = total + gradient_bound(reference, step, reference.tape.edge(ref), dtype).array()
            total = total + (0.0 if held is None else 2 * DTYPES[dtype].epsilon * np.abs(held.value))
        elif isinstance(step, Grad) and traced.at == ref.at and not traced.skipped:
            return gradient_bound(reference, step, reference.tape.edge(step.inputs[ref.output]), dtype).array()
        elif isinstance(step, ZeroGrad) and ref in step.leaves and not traced.skipped:
            total = np.zeros(())
    return total


def value_slack(program: Program, observation: Observation, ref: Ref) -> Array | None:
    """Returns the rounding bound of a value that an op or a detach made; None for other values."""
    if not isinstance(program[ref.at], (Apply, Detach)):
        return None
    reference = _followed(program, observation)
    return forward_bound(reference, ref, working_dtype(program)).array(np.shape(reference.values[ref]))


def hook_slack(program: Program, observation: Observation, hook: Ref) -> Array:
    """Returns the rounding bound of the gradient with which a program's last instruction calls a hook."""
    at = len(program) - 1
    call, registered = program[at], program[hook.at]
    assert isinstance(call, Backward | Grad) and isinstance(registered, Hook)
    reference = _followed(program.upto(at), observation)
    edge = reference.tape.edge(registered.target)
    return gradient_bound(reference, call, edge, working_dtype(program), until=hook).array()


def _followed(program: Program, observation: Observation) -> Reference:
    """Returns a reference that has computed the right values of a program, given the observation of the program."""
    reference = Reference()
    reference.observing = True
    for _ in trace(program, observation, reference, None, follows=True):
        pass
    return reference


def regions_run(program: Program, observation: Observation, among: Collection[int]) -> list[Hashable]:
    """Returns keys of the regions (instructions that ran as one compiled or checkpointed function) in which a program
    ran, in order; regions without any instruction of `among` are left out.
    """
    regions = observed_regions(program, observation)
    return [region_key(program, region) for region in regions if not set(among).isdisjoint(region.steps)]
