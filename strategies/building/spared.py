"""Recognizes the situations in which some framework ends its process, so that programs can leave them out."""

from __future__ import annotations

from collections.abc import Collection
from typing import assert_never

from autograd_conformance.programs.hazards import Hazard
from autograd_conformance.programs.language import (
    Backward,
    BackwardCall,
    Grad,
    Hook,
    InPlace,
    Instruction,
    Ref,
    Step,
    ZeroGrad,
)
from autograd_conformance.programs.operands import results
from autograd_conformance.reference.reference import Reference

WRITES = (InPlace, Step)
CHANGING = (*WRITES, Backward, ZeroGrad)
"""Instructions that may change a gradient in place."""


def is_spared(reference: Reference, step: Instruction, spared: Collection[Hazard]) -> bool:
    """Whether an instruction would make one of some situations, if it came next."""
    return any(_makes(hazard, reference, step) for hazard in spared)


def _makes(hazard: Hazard, reference: Reference, step: Instruction) -> bool:
    match hazard:
        case Hazard.OUTDATED_HOOK:
            return isinstance(step, Hook) and _may_be_outdated(reference, step.target)
        case Hazard.WRITTEN_RESULT:
            return isinstance(step, InPlace) and is_kept_result(reference, step.target)
        case Hazard.CONSTANT_GRADIENT:
            return isinstance(step, (Backward, Grad)) and _reaches_constant_gradient(reference, step)
        case _:
            assert_never(hazard)


def is_kept_result(reference: Reference, target: Ref) -> bool:
    """Whether a value is a result of an op that is not its first one, or a view of it, whose gradient an earlier
    instruction kept or requested. Where a region (instructions that run as one function) is one node, any value may be
    a later result.
    """
    base, calls = reference.storages.base(target), reference.calls
    may_be_later = base.output > 0 or reference.traits.one_node
    return may_be_later and base in calls.retained | calls.captured_inputs


def _may_be_outdated(reference: Reference, target: Ref) -> bool:
    """Whether a value that is no leaf may use memory that was written to after the value was made. A gradient may be a
    view of any other value. A write that would be rejected for a view may be allowed if an op returned a copy.
    """
    memory = reference.storages
    owner = memory.storage(target)
    if reference.tape.is_leaf(target):
        return False
    since = reference.steps[target.at + 1 :]
    written = (step.leaves if isinstance(step, Step) else (step.target,) for step in since if isinstance(step, WRITES))
    if any(owner in map(memory.storage, targets) for targets in written):
        return True
    if reference.views.is_gradient(owner):
        return any(isinstance(step, CHANGING) for step in since)
    grads = {memory.storage(grad) for grad in reference.grads.tensors.values() if grad is not None}
    return owner in grads and owner != target and target not in reference.tape.same_object


def _reaches_constant_gradient(reference: Reference, call: BackwardCall) -> bool:
    """Whether a call goes through a result of an earlier functional call that depends on no leaf."""
    made = [
        Ref(at, k)
        for at, step in enumerate(reference.steps)
        if isinstance(step, Grad) and step.create_graph and at not in reference.skipped
        for k in range(results(step))
    ]
    recorded = [ref for ref in made if reference.requires_grad[ref]]
    if not recorded or not reference.pullbacks.is_legal(call):
        return False
    reached = reference.pullbacks.of(call)
    return any(reference.tape.edge(ref) in reached and not reference.pullbacks.depends(ref) for ref in recorded)
