"""Checks of values: the results of instructions, and the effects of in-place changes on existing values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.ops.random import RANDOM_OPS
from autograd_conformance.ops.rows.dtypes import result_dtype
from autograd_conformance.programs import slugs
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.dtypes import DTYPES
from autograd_conformance.programs.language import (
    Apply,
    Backward,
    Detach,
    DetachInPlace,
    Grad,
    InPlace,
    Instruction,
    Leaf,
    Literal,
    ReadGrad,
    Ref,
    Step,
    is_recorded,
)
from autograd_conformance.programs.observations import StepObservation, Tensor
from autograd_conformance.programs.operands import operands
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.reference.computation.reverse import GradientEdge
from autograd_conformance.reference.equality import is_equal
from autograd_conformance.reference.rounding.bounds import close, forward_bound
from autograd_conformance.rules.judge.checks import memory
from autograd_conformance.rules.judge.state import Judging
from autograd_conformance.rules.violations.expected import DefinedValue, DocumentedSample, Kept, Unchanged
from autograd_conformance.rules.violations.observed import ChangedValue, ImpossibleSample, OtherValue, ValueChanged
from autograd_conformance.rules.violations.shared import Flag, Flagged, ResultDtype, ResultShape
from autograd_conformance.rules.violations.violation import Allowed, Violation, op_of

Values = Sequence[Tensor | None]
"""The results of an instruction as the framework returned them; None for an unused input of the functional form."""


def judge_made(judging: Judging, at: int, step: Leaf | Apply | Detach | ReadGrad, values: Values) -> Violation | None:
    """Notes the dtype, strides and memory of each result; returns the violation at the first result with wrong
    elements, flag or memory.
    """
    rule = slugs.DETACH_VALUES if isinstance(step, Detach) else slugs.GRADIENTS_FORWARD
    rule = slugs.NETWORKS_RANDOM if isinstance(step, Apply) and step.op in RANDOM_OPS else rule
    for k, tensor in enumerate(values):
        ref = Ref(at, k)
        want = judging.reference.values.get(ref)
        if tensor is None:
            continue
        judging.dtypes[ref] = tensor.dtype
        if want is None or ref in judging.reference.storages.unspecified:
            continue
        judging.strides[ref] = tensor.strides
        violation = (
            _check_sample(judging, at, step, ref, tensor)
            or value_violation(judging, at, step, rule, ref, tensor, want)
            or check_dtype(judging, at, step, rule, ref, tensor, expected_dtype(judging, step))
            or judge_flag(judging, at, step, ref, tensor)
            or memory.judge_made(judging, at, step, ref, tensor)
        )
        if violation:
            return violation
    return None


EXACT = 1e-6
"""The largest rounding error of an observed random number near 1, in dtypes with many digits."""


def _check_sample(judging: Judging, at: int, step: Instruction, ref: Ref, tensor: Tensor) -> Violation | None:
    """Returns the violation if a random op cannot have drawn the numbers that it returned."""
    if not isinstance(step, Apply):
        return None
    draws = row_of(step.op).draws
    if draws is None:
        return None
    near = max(EXACT, DTYPES[judging.precision(tensor.dtype)].epsilon)
    if draws(tensor.value, near, **dict(step.attrs)):
        return None
    return judging.differs(slugs.NETWORKS_RANDOM, at, ref, ImpossibleSample(tensor.value), DocumentedSample(), step)


def value_violation(
    judging: Judging,
    at: int,
    step: Instruction,
    rule: Slug,
    ref: Ref,
    tensor: Tensor,
    want: np.ndarray,
    edge: GradientEdge | None = None,
) -> Violation | None:
    """Returns the violation if a value has wrong elements, beyond the rounding of the computation at `edge` (or of
    `ref`).
    """
    if tensor.value.shape != want.shape:
        return judging.differs(rule, at, ref, ResultShape(tensor.value.shape), ResultShape(want.shape), step)
    dtype = judging.precision(tensor.dtype)
    if close(tensor.value, want, dtype) or not np.abs(want).max() < DTYPES[dtype].huge:
        return None
    bound = forward_bound(judging.reference, ref if edge is None else edge, judging.dtype)
    if bound.allows(np.abs(tensor.value - want)) or not judging.applies(rule):
        return None
    return Violation(
        rule, at, OtherValue(), (Allowed(DefinedValue(), rule),), ref, op_of(step),
        got=tensor.value, want=want, bound=bound.curved(want.shape),
    )  # fmt: skip


def expected_dtype(judging: Judging, step: Leaf | Apply | Detach | ReadGrad) -> str | None:
    """Returns the dtype that an instruction's result must have; None for operands of several dtypes if no rule
    specifies it.
    """
    match step:
        case Leaf(value):
            return value.dtype
        case Apply(op, args):
            given = [judging.dtypes.get(r, "") for r in args]
            if len({*given}) > 1 and not (DTYPES.keys() >= {*given} and Capability.PROMOTES in judging.capabilities):
                return row_of(op).dtype
            return result_dtype(row_of(op), given, [judging.reference.values[r].shape for r in args]) or None
        case Detach(source):
            return judging.dtypes.get(source)
        case ReadGrad(leaf):
            held = judging.tape.grads.get(leaf)
            return None if held is None else held.dtype
        case _:
            assert_never(step)


def check_dtype(
    judging: Judging, at: int, step: Instruction, rule: Slug, ref: Ref, tensor: Tensor, expected: str | None
) -> Violation | None:
    """Returns the violation if a value has another dtype than expected; None if no dtype is expected."""
    if expected is None or tensor.dtype == expected:
        return None
    return judging.differs(rule, at, ref, ResultDtype(tensor.dtype), ResultDtype(expected), step)


def judge_flag(judging: Judging, at: int, step: Instruction, ref: Ref, tensor: Tensor) -> Violation | None:
    """Returns the violation if the `requires_grad` flag of a result is wrong. A gradient that is constant may have
    either flag, and the reference adopts the observed one.
    """
    requires = judging.reference.requires_grad[ref]
    if tensor.requires_grad is None or tensor.requires_grad == requires:
        return None
    if isinstance(step, (ReadGrad, Grad)) and requires and not judging.reference.pullbacks.depends(ref):
        judging.reference.flags.forget_history(at, ref)  # the gradient is constant: it need not be recorded
        return None
    rule = _history_rule(judging, ref.at, step, requires)
    loses = requires and isinstance(step, Apply) and _has_gradient(judging, ref)
    return judging.differs(rule, at, ref, Flag(tensor.requires_grad, loses=loses), Flag(requires), step)


def _has_gradient(judging: Judging, ref: Ref) -> bool:
    """Whether some operand of a value has a gradient that is not zero, for a cotangent of ones."""
    value = judging.reference.values[ref]
    ones = Literal((1.0,) * value.size, value.shape)
    contributions = judging.reference.pullbacks.of(Backward((ref,), (ones,)))
    own = judging.reference.tape.edge(ref)
    return any(np.any(gradient) for edge, gradient in contributions.items() if edge != own)


def _history_rule(judging: Judging, at: int, step: Instruction, requires: bool) -> Slug:
    """Returns the rule that says whether a result has a history, and so requires grad."""
    if isinstance(step, (ReadGrad, Grad)):
        return slugs.HIGHER_DIFFERENTIABLE if requires else slugs.HIGHER_PLAIN_RAISES
    if isinstance(step, Detach):
        return slugs.DETACH_VALUES
    if judging.program.mode(at) and any(judging.reference.requires_grad[r] for r in operands(step)):
        return slugs.MODES_RECORDED if requires else slugs.MODES_NO_GRAD_RESULT
    if requires and judging.tape.unrecorded and not judging.program.mode(at):
        return slugs.MODES_RESTORED
    return slugs.GRADIENTS_REQUIRES_GRAD


# -- writes -----------------------------------------------------------------------------------------------------------


def check_written(judging: Judging, at: int, step: InPlace, observed: StepObservation) -> Violation | None:
    """Returns the violation if an in-place op did not change its target and all aliases of the target correctly."""
    target, storages = step.target, judging.reference.storages
    affected = set(storages.aliases(target))
    for ref, tensor in observed.values.items():
        want = judging.reference.values[ref]
        if ref in storages.unspecified or ref not in affected:
            continue
        rule = slugs.WRITES_VALUE if ref == target else slugs.WRITES_ALIASES
        violation = value_violation(judging, at, step, rule, ref, tensor, want, judging.reference.writes.latest)
        if violation:
            return violation
    violation = check_elsewhere(judging, at, step, observed)
    left = observed.values.get(target)
    if left is not None and not violation:
        violation = check_dtype(judging, at, step, slugs.WRITES_VALUE, target, left, judging.dtypes.get(target))
    return violation or _written_flag(judging, at, step, observed)


def _written_flag(judging: Judging, at: int, step: InPlace, observed: StepObservation) -> Violation | None:
    """Returns the violation if the `requires_grad` flag of an in-place op's target is wrong."""
    left, requires = observed.values.get(step.target), judging.reference.requires_grad[step.target]
    if left is None or left.requires_grad is None or left.requires_grad == requires:
        return None
    rule = slugs.WRITES_REQUIRES_GRAD if is_recorded(judging.program.mode(at)) else slugs.MODES_UNRECORDED_WRITE
    difference, expected = Flag(left.requires_grad, Flagged.TARGET), Flag(requires, Flagged.TARGET)
    return judging.differs(rule, at, step.target, difference, expected, step)


def check_detached(judging: Judging, at: int, step: DetachInPlace, observed: StepObservation) -> Violation | None:
    """Returns the violation if a value that was detached in place changed, or still has a history."""
    rule, target, left = slugs.DETACH_IN_PLACE, step.target, observed.values.get(step.target)
    if left is None or target in judging.reference.storages.unspecified or not judging.applies(rule):
        return None
    want = judging.reference.values[target]
    if not is_equal(left.value, want):
        allowed = (Allowed(Unchanged(Kept.TARGET), rule),)
        return Violation(rule, at, ValueChanged(ChangedValue.TARGET), allowed, target, got=left.value, want=want)
    if left.requires_grad:
        difference, expected = Flag(True, Flagged.TARGET), Flag(False, Flagged.TARGET)
        return judging.differs(rule, at, target, difference, expected, step)
    return check_dtype(judging, at, step, rule, target, left, judging.dtypes.get(target))


def check_elsewhere(judging: Judging, at: int, step: InPlace | Step, observed: StepObservation) -> Violation | None:
    """Returns the violation if an in-place op or a step changed a value that shares no memory with its targets."""
    storages = judging.reference.storages
    targets = step.leaves if isinstance(step, Step) else (step.target,)
    affected = {alias for target in targets for alias in storages.aliases(target)} | storages.unspecified
    for ref, tensor in observed.values.items():
        before = judging.values_before.get(ref)
        if ref in affected or before is None or is_equal(tensor.value, before):
            continue
        difference, expected = ValueChanged(ChangedValue.ELSEWHERE), Unchanged(Kept.VALUES_ELSEWHERE)
        return judging.differs(slugs.WRITES_NOTHING_ELSE, at, ref, difference, expected, step)
    return None
