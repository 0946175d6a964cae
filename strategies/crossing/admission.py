"""Admission: whether an instruction can come next in a program, for a framework with a given alphabet."""

from __future__ import annotations

from functools import partial

from autograd_conformance.ops.optimizers import IMPLEMENTATION
from autograd_conformance.programs.capabilities import Capability, needs_of
from autograd_conformance.programs.language import (
    Apply,
    AssignGrad,
    Backward,
    Clip,
    Delete,
    Grad,
    InPlace,
    Instruction,
    Leaf,
    Literal,
    Modes,
    Optimizer,
    ReadGrad,
    Ref,
    RemoveHook,
    Step,
    ZeroGrad,
)
from autograd_conformance.programs.operands import operands
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.domains import in_domain
from autograd_conformance.strategies.building.drafts.ops import LIMIT
from autograd_conformance.strategies.building.drafts.script import Script
from autograd_conformance.strategies.building.drafts.writes import writes_of
from autograd_conformance.strategies.building.spared import is_spared
from autograd_conformance.strategies.crossing.donors import UPDATES, exists, is_handle, is_updatable

ABOUT_GRADIENTS = (ZeroGrad, Clip, ReadGrad, AssignGrad)
"""Instructions about the `.grad` of leaves, and of values that retain their gradients."""


def can_follow(script: Script, step: Instruction, modes: Modes) -> bool:
    """Whether an instruction can come next: its operands exist, the framework has what it needs, and its results can be
    judged.
    """
    return _has_operands(script, step) and _is_offered(script, step, modes) and _can_be_judged(script, step)


def _has_operands(script: Script, step: Instruction) -> bool:
    read = operands(step)
    if not all(exists(script, ref) and is_handle(script, ref) == isinstance(step, RemoveHook) for ref in read):
        return False
    if isinstance(step, UPDATES):  # a leaf that never required grad is no parameter
        may_freeze = script.alphabet.can(Capability.SWITCHES)
        return all(is_updatable(script, ref) and (may_freeze or script.requires(ref)) for ref in read)
    holders = read[:1] if isinstance(step, AssignGrad) else read
    return not isinstance(step, ABOUT_GRADIENTS) or all(_may_hold_gradient(script, ref) for ref in holders)


def _may_hold_gradient(script: Script, ref: Ref) -> bool:
    """Whether a value is a leaf, or retains its gradient."""
    reference = script.reference
    return is_updatable(script, ref) or ref in reference.calls.retained | reference.flags.toggled


def _is_offered(script: Script, step: Instruction, modes: Modes) -> bool:
    """Whether the framework claims everything that an instruction needs."""
    alphabet = script.alphabet
    needs = needs_of(step, script.program()) | ({Capability.MODES} if modes else set())
    if not needs <= alphabet.capabilities:
        return False
    match step:
        case Leaf(value):
            return value.dtype in alphabet.dtypes and alphabet.admits(value.shape)
        case Apply(op):
            known = op in alphabet.ops or op in alphabet.modules
        case InPlace(op):
            known = op in writes_of(tuple(alphabet.ops), tuple(alphabet.writes))[1]
        case Step() | Optimizer():
            had = {*alphabet.optimizers.get(step.optimizer, ()), *IMPLEMENTATION}
            given = (step.settings, *(own for _, own in step.groups))
            return step.optimizer in alphabet.optimizers and all(name in had for each in given for name, _ in each)
        case Backward() | Grad():
            distinct = not alphabet.traits.distinct_roots or len({*step.roots}) == len(step.roots)
            return distinct and all(map(partial(_is_specified, script), step.roots, step.cotangents))
        case _:
            return True
    mixed = len({script.dtypes[ref] for ref in operands(step)}) > 1
    return known and (alphabet.can(Capability.PROMOTES) or not mixed) and script.unsupported_form(step) is None


def _is_specified(script: Script, root: Ref, cotangent: Literal | None) -> bool:
    """Whether a root may have a cotangent, or the framework claims to refuse it."""
    alphabet = script.alphabet
    if cotangent is None:
        return alphabet.can(Capability.NON_SCALAR_CHECK) or alphabet.traits.implies(script.shape(root))
    return alphabet.can(Capability.COTANGENT_CHECK) or cotangent.shape == script.shape(root)


def _can_be_judged(script: Script, step: Instruction) -> bool:
    """Whether the results of an instruction follow from the rules, and the process survives it."""
    reference = script.reference
    if is_spared(reference, step, script.alphabet.spared):
        return False
    match step:
        case Apply() | InPlace():
            written = isinstance(step, InPlace) and reference.storages.overlaps_itself(step.target)
            if written or not in_domain(step, reference.values):
                return False
            made = reference.apply(step.op, operands(step), step.attrs)
            return all(not each.size or np.abs(each).max() <= LIMIT for each in made)
        case AssignGrad(leaf, Ref() as value):
            memory = reference.storages
            apart = memory.storage(value) != memory.storage(leaf) and not memory.overlaps_itself(value)
            return apart and not reference.requires_grad[value]
        case Delete(values):  # a leaf that the program lost receives gradients that nobody sees
            return not any(isinstance(reference.steps[ref.at], Leaf) for ref in values)
        case _:
            return True
