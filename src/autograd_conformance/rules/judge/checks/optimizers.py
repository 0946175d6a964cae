"""Checks of optimizers: each leaf's step by the optimizer's formula, and the clipping of gradients."""

from __future__ import annotations

from autograd_conformance.ops.optimizers import IMPLEMENTATION, OPTIMIZERS
from autograd_conformance.programs import slugs
from autograd_conformance.programs.dtypes import COARSE, DTYPES
from autograd_conformance.programs.language import Clip, Ref, Step
from autograd_conformance.programs.observations import Gradient, StepObservation, Tensor
from autograd_conformance.programs.operands import grouped
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.reference.equality import is_equal
from autograd_conformance.reference.optimizers import LeafState, slack, stepped
from autograd_conformance.reference.staging.derivatives import Array
from autograd_conformance.rules.diagnosis.kinds import Diagnosis, DiagnosisKind
from autograd_conformance.rules.judge.checks.contributions import is_unchanged, may_share_gradient
from autograd_conformance.rules.judge.checks.values import Values, check_dtype
from autograd_conformance.rules.judge.state import Judging
from autograd_conformance.rules.violations.behaviour import Expected
from autograd_conformance.rules.violations.expected import (
    DefinedValue,
    ExpectedMove,
    Kept,
    Movement,
    RightGradient,
    Unchanged,
)
from autograd_conformance.rules.violations.observed import GradientChanged, OtherGradient, OtherMove, OtherValue
from autograd_conformance.rules.violations.shared import Place
from autograd_conformance.rules.violations.violation import Allowed, Violation, diagnosed, op_of


def check_step(judging: Judging, at: int, step: Step, values: Values, observed: StepObservation) -> Violation | None:
    """Returns the violation if a step moved a leaf to a wrong place, or changed a gradient; where the places are
    unspecified, only if it changed a gradient that it must keep.
    """
    if _moves_memory_twice(judging, step):
        return _check_kept(judging, at, step, observed)
    if _steps_on_gradient(judging, step):
        return None
    for leaf, tensor in zip(step.leaves, values, strict=True):
        assert tensor is not None
        want, old = judging.reference.values[leaf], judging.values_before[leaf]
        violation = check_dtype(judging, at, step, slugs.OPTIMIZERS_FORMULA, leaf, tensor, judging.dtypes.get(leaf))
        if violation:
            return violation
        if _may_vanish(judging, step, leaf, tensor.dtype):
            judging.exercise((slugs.OPTIMIZERS_FINITE,))
        if _is_near(judging, tensor.value, want, old):
            continue
        bound = _step_bound(judging, step, leaf, tensor.dtype, old)
        off = np.abs(tensor.value - want) > bound
        off |= np.isnan(tensor.value) & np.isfinite(bound) & ~np.isnan(want)
        if not off.any():
            violation = _check_finite(judging, at, leaf, tensor, want, bound)
            if violation:
                return violation
            continue
        holder = _holder_of(judging, step, leaf)
        if holder and not is_unchanged(judging.tape.grads.get(holder), observed.gradients.get(holder)):
            expected = Unchanged(Kept.GRADIENTS)
            return judging.differs(slugs.OPTIMIZERS_KEEPS_GRADIENTS, at, holder, GradientChanged(), expected, step)
        is_ungrouped = bool(step.groups) and _is_ungrouped(judging, step, leaf, tensor.value)
        rule, movement = (slugs.OPTIMIZERS_GROUPS, Movement.GROUP) if is_ungrouped else _rule_of(judging, step, leaf)
        if judging.applies(rule):
            allowed = (Allowed(ExpectedMove(movement), rule),)
            found = Violation(rule, at, OtherMove(), allowed, leaf, got=tensor.value, want=want, bound=bound)
            return diagnosed(found, Diagnosis(DiagnosisKind.GROUP_IGNORED), rule) if is_ungrouped else found
    return _check_kept(judging, at, step, observed)


def is_unspecified(judging: Judging, step: Step) -> bool:
    """Whether the rules do not specify to which places a step moves its leaves."""
    return _moves_memory_twice(judging, step) or _steps_on_gradient(judging, step)


def _check_kept(judging: Judging, at: int, step: Step, observed: StepObservation) -> Violation | None:
    """Returns the violation if a step changed a gradient, unless the gradient is in the memory of a stepped leaf."""
    for leaf, got in observed.gradients.items():
        if not is_unchanged(judging.tape.grads.get(leaf), got) and not _moved_along(judging, leaf, step, got):
            rule, expected = slugs.OPTIMIZERS_KEEPS_GRADIENTS, Unchanged(Kept.GRADIENTS)
            return judging.differs(rule, at, leaf, GradientChanged(), expected, step)
    return None


def _moves_memory_twice(judging: Judging, step: Step) -> bool:
    """Whether several leaves of a step are in one memory, which the step then moves once for each of them."""
    storages = [judging.reference.storages.storage(leaf) for leaf in step.leaves]
    return len(set(storages)) < len(storages)


def _steps_on_gradient(judging: Judging, step: Step) -> bool:
    """Whether a leaf of a step is also, by its memory, the gradient that moves another leaf of the step. The step may
    read that gradient before or after the leaf moves.
    """
    return any(judging.tape.grads.get(leaf) is not None and _holder_of(judging, step, leaf) for leaf in step.leaves)


def _holder_of(judging: Judging, step: Step, leaf: Ref) -> Ref | None:
    """Returns the leaf whose gradient is in the memory of the given leaf of the same step; None if there is none."""
    storages, grads = judging.reference.storages, judging.reference.grads.tensors
    own = storages.storage(leaf)
    held = ((other, grads.get(other)) for other in step.leaves if other != leaf)
    return next((other for other, gradient in held if gradient and storages.storage(gradient) == own), None)


def check_aliases(judging: Judging, at: int, step: Step, observed: StepObservation) -> Violation | None:
    """Returns the violation if a value that shares memory with a stepped leaf did not change with it."""
    storages, rule = judging.reference.storages, slugs.WRITES_ALIASES
    for leaf in step.leaves:
        aliases, moved = storages.aliases(leaf), observed.values.get(leaf)
        if len(aliases) == 1 or moved is None or storages.offsets(leaf).size < storages.offsets(aliases[0]).size:
            continue
        content = np.empty_like(moved.value, shape=moved.value.size)
        content[storages.offsets(leaf).ravel()] = moved.value.ravel()
        for alias in aliases:
            got = observed.values.get(alias)
            if got is None or alias in storages.unspecified:
                continue
            want = content[storages.offsets(alias)]
            if not is_equal(got.value, want) and judging.applies(rule):
                allowed = (Allowed(DefinedValue(), rule),)
                return Violation(rule, at, OtherValue(), allowed, alias, op_of(step), got=got.value, want=want)
    return None


def _is_near(judging: Judging, got: Array, want: Array, old: Array) -> bool:
    """Whether a leaf is within one or two roundings of the right place, as after almost every step."""
    dtype = DTYPES[judging.dtype]
    near = 4 * dtype.epsilon * (np.abs(old) + np.abs(want - old)) + dtype.tiny
    return bool((np.abs(got - want) <= near).all())


def _step_bound(judging: Judging, step: Step, leaf: Ref, dtype: str, old: Array) -> Array:
    """Returns the rounding bound of a step; zero where the leaf must not move. It is infinite where a gradient is 0 if
    the dtype has no number as small as the one that keeps the formula from dividing by 0.
    """
    state, held = judging.reference.optimizers.get((step, leaf)), judging.tape.grads.get(leaf)
    if state is None or state.moved is None or held is None:
        return np.zeros_like(old)
    settings = dict(dict(grouped(step))[leaf])
    bound = slack(step.optimizer, settings, state, dtype)
    return np.where(held.value == 0, np.inf, bound) if _vanishes(step, leaf, dtype) else bound


def _vanishes(step: Step, leaf: Ref, dtype: str) -> bool:
    """Whether the dtype has no number as small as the one that keeps a step's formula from dividing by 0."""
    if dtype not in COARSE:
        return False
    small = OPTIMIZERS[step.optimizer].formula(dict(dict(grouped(step))[leaf])).get("eps")
    return isinstance(small, float) and small < DTYPES[dtype].smallest


def _may_vanish(judging: Judging, step: Step, leaf: Ref, dtype: str) -> bool:
    """Whether a step may divide by 0, since it adds a number that the dtype does not have to the square of a gradient,
    which it does not have either.
    """
    held = judging.tape.grads.get(leaf)
    if held is None or not _vanishes(step, leaf, dtype):
        return False
    return bool((np.square(held.value.astype("float64")) < DTYPES[dtype].smallest).any())


def _check_finite(judging: Judging, at: int, leaf: Ref, got: Tensor, want: Array, bound: Array) -> Violation | None:
    """Returns the violation if a step moved a leaf to infinity or NaN, where the right place is within the range of its
    dtype.
    """
    rule = slugs.OPTIMIZERS_FINITE
    lost = ~np.isfinite(got.value) & (np.abs(want) < DTYPES[judging.precision(got.dtype)].largest / 4)
    if got.dtype not in COARSE or not lost.any() or not judging.applies(rule):
        return None
    allowed = (Allowed(ExpectedMove(Movement.FORMULA), rule),)
    return Violation(rule, at, OtherMove(), allowed, leaf, got=got.value, want=want, bound=np.where(lost, 0.0, bound))


def _rule_of(judging: Judging, step: Step, leaf: Ref) -> tuple[Slug, Movement]:
    """Returns the rule that a wrongly moved leaf breaks, and the movement that the rule requires. Both depend on the
    step's groups and settings, and on whether the leaf held a gradient at this step and at earlier ones.
    """
    moved = judging.tape.moved.get((step, leaf), ())
    if judging.tape.grads.get(leaf) is None:
        return slugs.OPTIMIZERS_SKIPS, Movement.NOWHERE
    if not all(moved):
        return slugs.OPTIMIZERS_SKIPS, Movement.WITHOUT_SKIPPED
    if any(key in IMPLEMENTATION for key, _ in step.settings):
        return slugs.OPTIMIZERS_VARIANTS, Movement.VARIANT
    if step.groups:
        return slugs.OPTIMIZERS_GROUPS, Movement.GROUP
    if moved:
        return slugs.OPTIMIZERS_REMEMBERS, Movement.REMEMBERED
    return slugs.OPTIMIZERS_FORMULA, Movement.FORMULA


NEAR = {"float64": 1e-10, "float32": 1e-5}
"""The part by which a leaf may be off that counts as moved by other settings; in other dtypes, a hundred roundings."""


def _is_ungrouped(judging: Judging, step: Step, leaf: Ref, got: Array) -> bool:
    """Whether a leaf moved by the optimizer's own settings instead of those of its group."""
    known, state = judging.reference.optimizers.get((step, leaf)), LeafState()
    if known is None or dict(grouped(step))[leaf] == step.settings:
        return False
    for value, gradient in known.history:
        stepped(step.optimizer, dict(step.settings), state, value, gradient)
    near = NEAR.get(judging.dtype) or DTYPES[judging.dtype].roundings(100)
    return state.moved is not None and np.allclose(got, state.moved, near, 0.0)


def _moved_along(judging: Judging, leaf: Ref, step: Step, got: Gradient | None) -> bool:
    """Whether a gradient uses the memory of a stepped leaf, and equals what that memory now contains."""
    storages, gradient = judging.reference.storages, judging.reference.grads.tensors.get(leaf)
    if gradient is None or got is None or storages.storage(gradient) not in map(storages.storage, step.leaves):
        return False
    want = judging.reference.values[gradient]
    return got.value.shape == want.shape and np.allclose(got.value, want, DTYPES[judging.dtype].roundings(256))


def check_clip(judging: Judging, at: int, step: Clip, observed: StepObservation) -> Violation | None:
    """Returns the violation if clipping did not change the named gradients as it must, or changed others."""
    rule, reference, dtype = slugs.OPTIMIZERS_CLIPS, judging.reference, DTYPES[judging.dtype]
    clipped: Expected = RightGradient(Place.CLIPPED)
    storages = {reference.storages.storage(grad) for grad in map(reference.grads.tensors.get, step.leaves) if grad}
    for leaf, got in observed.gradients.items():
        old, grad = judging.tape.grads.get(leaf), reference.grads.tensors.get(leaf)
        if old is None or grad is None or reference.storages.storage(grad) not in storages:
            if not is_unchanged(old, got) and not may_share_gradient(judging, leaf, step.leaves):
                return judging.differs(rule, at, leaf, GradientChanged(), Unchanged(Kept.OTHER_GRADIENTS), step)
            continue
        want = reference.values[grad]
        if got is None or got.value.shape != want.shape or got.dtype != old.dtype:
            return judging.differs(rule, at, leaf, GradientChanged(), clipped, step)
        bound = dtype.roundings(256) * np.abs(old.value) + dtype.tiny
        if not (np.abs(got.value - want) <= bound).all() and judging.applies(rule):
            return Violation(
                rule, at, OtherGradient(Place.CLIPPED), (Allowed(clipped, rule),), leaf,
                grad_before=old.value, got=got.value, want=want, bound=bound,
            )  # fmt: skip
    return None
