"""Checks of gradients and values that must not change, and of gradients that are cleared or assigned."""

from __future__ import annotations

from autograd_conformance.programs import slugs
from autograd_conformance.programs.language import (
    AssignGrad,
    BackwardCall,
    DefaultDtype,
    DetachInPlace,
    InPlace,
    Instruction,
    RetainGrad,
    SetRequiresGrad,
    ZeroGrad,
)
from autograd_conformance.programs.observations import Raised, StepObservation
from autograd_conformance.programs.operands import clearing_optimizer
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.reference.equality import is_equal
from autograd_conformance.reference.rounding.bounds import close
from autograd_conformance.rules.judge.checks.contributions import (
    is_complete,
    is_unchanged,
    may_hold_any,
    may_share_gradient,
    shares_gradient_memory,
    value_of,
)
from autograd_conformance.rules.judge.finding import Finding, Unspecified
from autograd_conformance.rules.judge.state import Judging
from autograd_conformance.rules.violations.behaviour import Expected
from autograd_conformance.rules.violations.expected import AssignedGradient, Kept, OldGradient, Unchanged, ZeroGradient
from autograd_conformance.rules.violations.observed import (
    ChangedValue,
    GradientChanged,
    HoldsGradient,
    OtherGradient,
    ValueChanged,
)
from autograd_conformance.rules.violations.shared import GradientForm, NoGradient, Place
from autograd_conformance.rules.violations.violation import Allowed, Violation
from autograd_conformance.tape.expectation.backward_calls import RAISED_MIDWAY
from autograd_conformance.tape.expectation.unspecified import is_unspecified
from autograd_conformance.tape.graph import Expectation

KEEPS: dict[type, Slug] = {
    SetRequiresGrad: slugs.MODES_FROZEN_LEAF,
    DetachInPlace: slugs.DETACH_IN_PLACE,
    RetainGrad: slugs.HOOKS_RETAINED,
    DefaultDtype: slugs.ACCUMULATION_UNREACHED,
}
"""For some instructions, the rule by which they leave gradients unchanged; for all others it is `hooks/called`."""


def check_gradients(judging: Judging, at: int, step: Instruction, observed: StepObservation) -> Violation | None:
    """Returns the violation if an instruction that does not concern gradients changed a gradient."""
    for leaf, got in observed.gradients.items():
        if not is_unchanged(judging.tape.grads.get(leaf), got):
            rule = KEEPS.get(type(step), slugs.HOOKS_CALLED)
            return judging.differs(rule, at, leaf, GradientChanged(), Unchanged(Kept.GRADIENTS), step)
    return None


def check_assigned(judging: Judging, at: int, step: AssignGrad, observed: StepObservation) -> Violation | None:
    """Returns the violation if a leaf does not hold the gradient that was assigned to it, or if another leaf's gradient
    changed.
    """
    for leaf, got in observed.gradients.items():
        if leaf != step.leaf:
            fine = is_unchanged(judging.tape.grads.get(leaf), got)
        elif step.value is None:
            fine = got is None
        else:
            want = judging.reference.values[step.value]
            fine = got is not None and close(got.value, want, judging.dtype)
            if fine and got is not None and got.dtype != (dtype := judging.dtypes.get(step.value, got.dtype)):
                form, expected = GradientForm(got.value.shape, got.dtype), GradientForm(got.value.shape, dtype)
                return judging.differs(slugs.ACCUMULATION_ASSIGNED, at, leaf, form, expected, step)
        if not fine:
            difference = HoldsGradient(value_of(got))
            return judging.differs(slugs.ACCUMULATION_ASSIGNED, at, leaf, difference, AssignedGradient(), step)
    return None


def check_cleared(judging: Judging, at: int, step: ZeroGrad, observed: StepObservation) -> Violation | None:
    """Returns the violation if clearing left a gradient other than None or zeros, or changed a gradient of another
    leaf. A leaf that held no gradient may hold zeros after it is cleared to zeros.
    """
    rule = slugs.ACCUMULATION_ZERO_TO_NONE if step.set_to_none else slugs.ACCUMULATION_ZERO_TO_ZEROS
    rule = slugs.OPTIMIZERS_CLEARS if clearing_optimizer(step, judging.program.instructions[:at]) else rule
    expected: Expected
    for leaf, got in observed.gradients.items():
        old = judging.tape.grads.get(leaf)
        if leaf not in step.leaves:
            fine = is_unchanged(old, got) or may_share_gradient(judging, leaf, step.leaves)
            expected = Unchanged(Kept.OTHER_GRADIENTS)
        elif step.set_to_none or old is None:
            is_zeros = got is not None and not got.value.any()
            fine, expected = got is None or (is_zeros and not step.set_to_none), NoGradient()
        else:
            fine = got is not None and not got.value.any() and got.value.shape == old.value.shape
            if fine and got is not None and got.dtype != old.dtype:
                form, expected = GradientForm(got.value.shape, got.dtype), GradientForm(old.value.shape, old.dtype)
                return judging.differs(rule, at, leaf, form, expected, step)
            expected = ZeroGradient()
        if not fine:
            return judging.differs(rule, at, leaf, HoldsGradient(value_of(got)), expected, step)
    return None


# -- errors -----------------------------------------------------------------------------------------------------------


def check_failed_call(
    judging: Judging, at: int, call: BackwardCall, expectation: Expectation, raised: Raised, observed: StepObservation
) -> Finding:
    """Returns the violation if a call that raised changed a gradient. If it raised during its traversal, a complete new
    gradient is allowed.
    """
    traversal, begun = expectation.traversal, raised.kind in RAISED_MIDWAY
    rule = slugs.ERRORS_ATOMIC if begun else slugs.ERRORS_REFUSAL_KEEPS_GRADIENTS
    for leaf, got in observed.gradients.items():
        old = judging.tape.grads.get(leaf)
        if is_unchanged(old, got) or may_hold_any(judging, leaf):
            continue
        if begun:
            if is_complete(judging, call, leaf, got, traversal) or shares_gradient_memory(judging, leaf):
                continue
            if judging.reference.tape.edge(leaf) in traversal.may_reach:
                continue
            if is_unspecified(judging.tape, call, traversal):
                return Unspecified()  # its gradients would have been unspecified, too
        if judging.applies(rule):
            return Violation(
                rule, at, OtherGradient(Place.FAILED_CALL), (Allowed(OldGradient(begun), rule),), leaf,
                grad_before=value_of(old), got=value_of(got),
            )  # fmt: skip
    return None


def check_refused_write(judging: Judging, at: int, step: InPlace, observed: StepObservation) -> Violation | None:
    """Returns the violation if an in-place op that raised changed a value nevertheless."""
    for ref, tensor in observed.values.items():
        before = judging.reference.values.get(ref)
        if before is None or ref in judging.reference.storages.unspecified:
            continue
        if not is_equal(tensor.value, before):
            difference, expected = ValueChanged(ChangedValue.REFUSED), Unchanged(Kept.VALUES)
            return judging.differs(slugs.WRITES_REFUSED_KEEPS_VALUES, at, ref, difference, expected, step)
    return None
