"""Checks of `.grad` after a backward call that returned."""

from __future__ import annotations

from autograd_conformance.programs import slugs
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.formats.text import names
from autograd_conformance.programs.language import Backward, Ref
from autograd_conformance.programs.observations import Gradient, Kind, StepObservation
from autograd_conformance.programs.operands import computed_from
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.diagnosis.diagnosis import diagnose
from autograd_conformance.rules.diagnosis.kinds import Diagnosis, DiagnosisKind
from autograd_conformance.rules.judge.checks import memory
from autograd_conformance.rules.judge.checks.contributions import (
    contribution_bound,
    holds_unlocated_gradient,
    is_complete,
    is_negligible,
    is_right_without_bound,
    is_same,
    is_unchanged,
    may_hold_any,
    may_share_gradient,
    op_of_rule,
    rule_of_gradient,
    rule_of_module_gradient,
    shares_gradient_memory,
    sum_rounding,
    value_of,
    values_of,
)
from autograd_conformance.rules.judge.state import Judging
from autograd_conformance.rules.violations.expected import (
    AddedInPlace,
    AnyGradient,
    ExpectedError,
    Kept,
    NewObject,
    OwnObject,
    RightGradient,
    Unchanged,
)
from autograd_conformance.rules.violations.observed import (
    Change,
    GradientChanged,
    ObjectKept,
    ObjectReplaced,
    OtherGradient,
    SharedGradient,
)
from autograd_conformance.rules.violations.shared import GradientForm, NoGradient, Place, Strides
from autograd_conformance.rules.violations.violation import Allowed, Violation, diagnosed
from autograd_conformance.tape.graph import Expectation, Traversal


def judge_call(
    judging: Judging, at: int, call: Backward, expectation: Expectation, observed: StepObservation
) -> Violation | None:
    """Returns the violation at the first leaf whose gradient is wrong after a call that returned: its elements, form or
    object. Waives differences of strides or objects that are known.
    """
    contributions, traversal = judging.reference.pullbacks.of(call), expectation.traversal
    reached = traversal.must_accumulate
    for leaf, got in observed.gradients.items():
        if leaf not in reached:
            if may_hold_any(judging, leaf):
                continue
            fine = is_unchanged(judging.tape.grads.get(leaf), got) or shares_gradient_memory(judging, leaf)
            fine = fine or _is_filled(judging, call, leaf, got)
            if not fine and not is_complete(judging, call, leaf, got, traversal):
                form = _form_violation(judging, at, call, leaf, got)
                if form is None or not judging.waive_form(form):
                    return form or _unreached_violation(judging, at, leaf, got, expectation)
            continue
        if holds_unlocated_gradient(judging, leaf) and may_share_gradient(judging, leaf, reached - {leaf}):
            continue  # it may hold what the call adds to the others as well
        contribution = contributions.get(judging.reference.tape.edge(leaf))
        if contribution is None:
            contribution = np.zeros_like(judging.reference.values[leaf])
        violation = _check_reached(judging, at, call, leaf, got, contribution, expectation, observed)
        if violation and not judging.waive_form(violation):
            return violation
    return _check_shared(judging, at, observed, traversal) or memory.check_new_gradients(judging, at, call, observed)


# -- leaves that the call reaches -------------------------------------------------------------------------------------


def _check_reached(
    judging: Judging,
    at: int,
    call: Backward,
    leaf: Ref,
    got: Gradient | None,
    contribution: np.ndarray,
    expectation: Expectation,
    observed: StepObservation,
) -> Violation | None:
    """Returns the violation if a leaf to which the call adds holds a gradient with wrong elements, form or object."""
    old, rule = judging.tape.added_to(leaf), _rule_of(judging, leaf, expectation.traversal)
    if got is None:
        if old is None and is_negligible(judging, call, leaf, contribution):
            return None  # a gradient that is zero throughout may stay undefined
        if old is None and slugs.GRADIENTS_EQUAL_LEAVES in expectation.exercises:
            rule = slugs.GRADIENTS_EQUAL_LEAVES
        rule = rule_of_module_gradient(judging, expectation, rule)
        lost = judging.differs(rule, at, leaf, NoGradient(), AnyGradient(), call)
        hook = _observing_hook(judging, leaf, observed)
        if lost is None or hook is None or not judging.applies(slugs.HOOKS_RESULT):
            return lost
        diagnosis = Diagnosis(DiagnosisKind.HOOK_OF_NONE, (hook.at + 1,))
        return diagnosed(lost, diagnosis, diagnosis.rule)
    dtype = judging.dtypes.get(leaf, got.dtype)
    if got.value.shape != contribution.shape or got.dtype != dtype:
        form, expected = GradientForm(got.value.shape, got.dtype), GradientForm(contribution.shape, dtype)
        return judging.differs(slugs.GRADIENTS_FORM, at, leaf, form, expected, call)
    violation = _check_value(judging, at, call, leaf, got, contribution, expectation, observed)
    if not violation and leaf in expectation.traversal.leaves:
        violation = _check_object(judging, at, call, leaf, got)
    return violation


def _observing_hook(judging: Judging, leaf: Ref, observed: StepObservation) -> Ref | None:
    """Returns the handle of a hook on a leaf that was called with a gradient and returned None; None if no hook was."""
    fired = {each.hook for each in observed.fired if each.value is not None}
    hooks = judging.reference.hooks.on.get(judging.reference.tape.edge(leaf), ())
    return next((handle for handle, hook in hooks if hook.effect == "observe" and handle in fired), None)


def _rule_of(judging: Judging, leaf: Ref, traversal: Traversal) -> Slug:
    """Returns the rule by which a call adds to a value's gradient."""
    if leaf not in traversal.leaves:
        return slugs.HOOKS_RETAINED if leaf in judging.reference.calls.retained else slugs.FUNCTIONAL_INPUTS_ONLY
    return slugs.ACCUMULATION_FIRST if judging.tape.holds_initial_gradient(leaf) else slugs.ACCUMULATION_ADDS


def _check_value(
    judging: Judging,
    at: int,
    call: Backward,
    leaf: Ref,
    got: Gradient,
    contribution: np.ndarray,
    expectation: Expectation,
    observed: StepObservation,
) -> Violation | None:
    """Returns the violation if a gradient has wrong elements, with the rule that is broken and the fault that explains
    it.
    """
    old = judging.tape.added_to(leaf)
    want = contribution if old is None else old.value + contribution
    if is_right_without_bound(judging, got.value, want, got.dtype):
        return None
    bound, beside = contribution_bound(judging, call, leaf), sum_rounding(judging, old, want)
    if bound.allows(np.abs(got.value - want), beside):
        return None
    traversal, alone = expectation.traversal, expectation.traversal.alone
    rule = rule_of_gradient(judging, expectation, slugs.GRADIENTS_OP if alone else slugs.GRADIENTS_GRAPH)
    allows = _rule_of(judging, leaf, traversal)
    if leaf not in traversal.leaves and Kind.MODIFIED not in expectation.raises:
        rule = allows
    allowed: tuple[Allowed, ...] = (Allowed(RightGradient(Place.LEAF), allows),)
    if Kind.MODIFIED in expectation.raises:
        allowed += (Allowed(ExpectedError(Kind.MODIFIED), expectation.raises[Kind.MODIFIED]),)
    undiagnosed = Violation(
        rule, at, OtherGradient(Place.LEAF), allowed, leaf,
        op_of_rule(rule, traversal), value_of(old), got.value, want, bound.curved() + beside,
    )  # fmt: skip
    held = {each: judging.tape.added_to(each) for each in judging.tape.grads}
    gradients = values_of(held), values_of(observed.gradients)
    accumulates = Capability.ACCUMULATES in judging.capabilities
    diagnosis = diagnose(judging.reference, call, leaf, *gradients, alone, accumulates)
    if diagnosis is None:
        return undiagnosed
    if RULES[rule].general and judging.applies(diagnosis.rule):
        rule = diagnosis.rule
    return diagnosed(undiagnosed, diagnosis, rule, op_of_rule(rule, traversal))


def _check_object(judging: Judging, at: int, call: Backward, leaf: Ref, got: Gradient) -> Violation | None:
    """Returns the violation if a gradient is a new object where it must be the old one, or vice versa, or its strides
    are wrong.
    """
    if not got.value.size:
        return None
    old = judging.tape.added_to(leaf)
    if old is not None and old.identity is not None and got.identity is not None:
        kept = old.identity == got.identity
        if kept and call.create_graph and not is_unchanged(old, got):
            return judging.differs(slugs.ACCUMULATION_REPLACES, at, leaf, ObjectKept(), NewObject(), call)
        if not kept and not call.create_graph:
            return judging.differs(slugs.ACCUMULATION_IN_PLACE, at, leaf, ObjectReplaced(), AddedInPlace(), call)
        if kept and old.strides is not None and got.strides is not None and old.strides != got.strides:
            return judging.differs(
                slugs.ACCUMULATION_LAYOUT, at, leaf, Strides(got.strides), Strides(old.strides), call
            )
    strides = judging.strides.get(leaf)
    if old is None and strides is not None and got.strides is not None:
        want = _expected_strides(strides, got.value.shape)
        if any(a != b for a, b, n in zip(got.strides, want, got.value.shape, strict=True) if n > 1):
            return judging.differs(slugs.ACCUMULATION_LAYOUT, at, leaf, Strides(got.strides), Strides(want), call)
    return None


def _expected_strides(strides: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the expected strides of a gradient: the leaf's strides if its elements are dense, else row-major ones."""
    dense, size = True, 1
    for stride, n in sorted((s, n) for s, n in zip(strides, shape, strict=True) if n > 1):
        dense, size = dense and stride == size, size * n
    if dense:
        return strides
    return tuple(int(np.prod(shape[k + 1 :])) for k in range(len(shape)))


# -- leaves that it does not reach ------------------------------------------------------------------------------------


def _is_filled(judging: Judging, call: Backward, leaf: Ref, got: Gradient | None) -> bool:
    """Whether a leaf without a gradient got zeros, in a framework that fills all leaves a root was computed from."""
    if not judging.reference.traits.fills or got is None or judging.tape.grads.get(leaf) is not None:
        return False
    zeros = not got.value.any() and got.value.shape == np.shape(judging.reference.values[leaf])
    return zeros and got.dtype == judging.dtypes.get(leaf, got.dtype) and leaf in computed_from(judging.program, call)


def _form_violation(judging: Judging, at: int, call: Backward, leaf: Ref, got: Gradient | None) -> Violation | None:
    """Returns the violation if the gradient of a leaf that the call does not reach has another dtype and the same
    elements.
    """
    old = judging.tape.grads.get(leaf)
    if old is None or got is None or not is_same(old.value, got.value):
        return None
    form, expected = GradientForm(got.value.shape, got.dtype), GradientForm(old.value.shape, old.dtype)
    return judging.differs(slugs.GRADIENTS_FORM, at, leaf, form, expected, call)


def _unreached_violation(
    judging: Judging, at: int, leaf: Ref, got: Gradient | None, expectation: Expectation
) -> Violation | None:
    """Returns the violation if the gradient of a leaf that the call does not reach changed."""
    rule, old = slugs.ACCUMULATION_UNREACHED, judging.tape.grads.get(leaf)
    if not judging.reference.requires_grad[leaf]:
        rule = slugs.MODES_FROZEN_LEAF if leaf in expectation.traversal.must_reach else slugs.ACCUMULATION_CONSTANT
    elif slugs.DETACH_BLOCKS in expectation.exercises:
        rule = slugs.DETACH_BLOCKS
    if not judging.applies(rule):
        return None
    how = Change.LOST if got is None else Change.RECEIVED if old is None else Change.CHANGED
    return Violation(
        rule, at, GradientChanged(how), (Allowed(Unchanged(Kept.LEAF_GRADIENT), rule),), leaf,
        grad_before=value_of(old), got=value_of(got),
    )  # fmt: skip


# -- leaves that hold one object --------------------------------------------------------------------------------------


def _check_shared(judging: Judging, at: int, observed: StepObservation, traversal: Traversal) -> Violation | None:
    """Returns the violation if two leaves hold one gradient object, although the program did not assign it to both."""
    rule = slugs.ACCUMULATION_OWN_OBJECT
    holders: dict[int, Ref] = {}
    for leaf, gradient in observed.gradients.items():
        if gradient is None or gradient.identity is None or not gradient.value.size:
            continue
        other = holders.setdefault(gradient.identity, leaf)
        if other != leaf and not _shared_before(judging, other, leaf) and judging.applies(rule):
            name = names(judging.program)
            return Violation(
                rule, at, SharedGradient(name[other], name[leaf]), (Allowed(OwnObject(), rule),), leaf,
                _common_op(traversal, other, leaf), partner=other,
            )  # fmt: skip
    return None


def _shared_before(judging: Judging, one: Ref, other: Ref) -> bool:
    """Whether two leaves held the same object before, because the program assigned it to both."""
    if other in judging.reference.tape.same_objects([one]):
        return True
    mine, its = judging.tape.grads.get(one), judging.tape.grads.get(other)
    return mine is not None and its is not None and mine.identity is not None and mine.identity == its.identity


def _common_op(traversal: Traversal, one: Ref, other: Ref) -> str | None:
    """Returns the name of the first op, on the way from the leaves to the roots, that depends on both leaves; else
    None.
    """
    reach: dict[Ref, set[Ref]] = {}
    for node in reversed(traversal.nodes):
        reached = {leaf for edge in node.args for leaf in reach.get(edge, {edge})} & {one, other}
        reach.update(dict.fromkeys(node.entry.outs, reached))
        if len(reached) == 2:
            return str(node.op)
    return None
