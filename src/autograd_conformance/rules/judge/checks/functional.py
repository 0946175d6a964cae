"""Checks of the functional form: the gradients that a call returned, and the held gradients that the call must not
change.
"""

from __future__ import annotations

from autograd_conformance.programs import slugs
from autograd_conformance.programs.language import Grad, Ref
from autograd_conformance.programs.observations import Gradient, StepObservation, Tensor
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.diagnosis.diagnosis import diagnose
from autograd_conformance.rules.judge.checks import memory
from autograd_conformance.rules.judge.checks.contributions import (
    contribution_bound,
    is_complete,
    is_right_without_bound,
    is_unchanged,
    op_of_rule,
    rule_of_gradient,
)
from autograd_conformance.rules.judge.checks.values import Values, check_dtype, judge_flag
from autograd_conformance.rules.judge.state import Judging
from autograd_conformance.rules.violations.expected import AnyGradient, Kept, RightGradient, Unchanged, ZeroResult
from autograd_conformance.rules.violations.observed import Change, GradientChanged, OtherGradient
from autograd_conformance.rules.violations.shared import Flag, GradientResult, NoGradient, NoResult, Place, ResultShape
from autograd_conformance.rules.violations.violation import Allowed, Violation, diagnosed
from autograd_conformance.tape.graph import Expectation, Traversal
from autograd_conformance.tape.traversal import ZERO


def judge_call(
    judging: Judging, at: int, step: Grad, values: Values, expectation: Expectation, observed: StepObservation
) -> Violation | None:
    """Returns the violation if a call of the functional form returned wrong gradients, or changed the gradient of a
    leaf. Notes the dtype, flag and memory of each result.
    """
    for leaf, got in observed.gradients.items():
        if not _may_hold(judging, step, leaf, got, expectation.traversal):
            return _wrongly_held(judging, at, step, leaf, got, expectation.traversal)
    contributions = judging.reference.pullbacks.of(step)
    for k, (ref, tensor) in enumerate(zip(step.inputs, values, strict=True)):
        want = contributions.get(judging.reference.tape.edge(ref))
        if tensor is None:
            violation = _check_none(judging, at, step, k, values, want)
        else:
            violation = _judge_result(judging, at, step, k, tensor, values, want, expectation)
        if violation:
            return violation
    return None


def _may_hold(judging: Judging, step: Grad, leaf: Ref, got: Gradient | None, traversal: Traversal) -> bool:
    """Whether a value may hold its observed gradient after the call: only values that retain their gradient get one."""
    if leaf not in traversal.must_accumulate:
        old = judging.tape.grads.get(leaf)
        return is_unchanged(old, got) or is_complete(judging, step, leaf, got, traversal)
    expected = judging.reference.pullbacks.of(step).get(judging.reference.tape.edge(leaf))
    return is_complete(judging, step, leaf, got, traversal) or expected is None or not expected.any()


def _wrongly_held(
    judging: Judging, at: int, step: Grad, leaf: Ref, got: Gradient | None, traversal: Traversal
) -> Violation | None:
    """Returns the violation if a value holds another gradient after the call: one that it had to retain, or one that
    the call had to leave as it was.
    """
    if leaf not in traversal.must_accumulate:
        difference, expected = GradientChanged(Change.BY_FUNCTIONAL_FORM), Unchanged(Kept.GRADIENTS)
        return judging.differs(slugs.FUNCTIONAL_NO_ACCUMULATION, at, leaf, difference, expected, step)
    if got is None:
        return judging.differs(slugs.HOOKS_RETAINED, at, leaf, NoGradient(), AnyGradient(), step)
    wrong, right = OtherGradient(Place.LEAF), RightGradient(Place.LEAF)
    return judging.differs(slugs.HOOKS_RETAINED, at, leaf, wrong, right, step)


def _check_none(
    judging: Judging, at: int, step: Grad, place: int, values: Values, want: np.ndarray | None
) -> Violation | None:
    """Returns the violation if a result of the functional form is None and must not be."""
    out = Ref(at, place)
    if want is not None and want.any() and not (step.allow_unused and bool((np.abs(want) < ZERO).all())):
        rule = _input_rule(judging, step, place, values)
        return judging.differs(rule, at, out, NoResult(), GradientResult(), step)
    if step.materialize_grads:
        return judging.differs(slugs.FUNCTIONAL_MATERIALIZED, at, out, NoResult(), ZeroResult(), step)
    return None


def _judge_result(
    judging: Judging,
    at: int,
    step: Grad,
    place: int,
    tensor: Tensor,
    values: Values,
    want: np.ndarray | None,
    expectation: Expectation,
) -> Violation | None:
    """Returns the violation if a result is not the right gradient, or is recorded although no graph is created. Notes
    its dtype and memory; the reference adopts its flag, and marks a result that may have either history as unspecified.
    """
    out, traversal = Ref(at, place), expectation.traversal
    if want is None and not step.materialize_grads:
        unused = judging.reference.tape.edge(step.inputs[place]) not in traversal.must_reach | traversal.may_fire
        if unused or tensor.value.any():
            return judging.differs(slugs.FUNCTIONAL_UNUSED_NONE, at, out, GradientResult(), NoResult(), step)
    violation = _check_gradient(judging, at, step, place, tensor, values, want, expectation)
    judging.dtypes[out] = tensor.dtype
    if not violation:
        expected = judging.dtypes.get(step.inputs[place])
        violation = check_dtype(judging, at, step, slugs.GRADIENTS_FORM, out, tensor, expected)
    if not violation and want is not None:
        if step.create_graph:
            violation = judge_flag(judging, at, step, out, tensor)
        elif tensor.requires_grad:
            violation = judging.differs(slugs.HIGHER_PLAIN_RAISES, at, out, Flag(True), Flag(False), step)
    violation = violation or memory.judge_returned(judging, at, step, out, tensor, traversal)
    if violation:
        return violation
    if want is not None and not want.any() and step.materialize_grads and step.create_graph:
        judging.reference.storages.unspecified.add(out)  # either computed, or created in place of an unused gradient
    if tensor.requires_grad is not None:
        judging.reference.requires_grad[out] = tensor.requires_grad
    return None


def _input_rule(judging: Judging, step: Grad, place: int, values: Values) -> Slug:
    """Returns the rule about an input with a wrong gradient: `functional/duplicates` if the input is listed twice and
    the results differ, `functional/inner-input` if it is no leaf and got None, else `functional/value`.
    """
    tensor, ref = values[place], step.inputs[place]
    twins = [values[k] for k, other in enumerate(step.inputs) if other == ref and k != place]
    if any((t is None) != (tensor is None) for t in twins):
        return slugs.FUNCTIONAL_DUPLICATES
    if tensor is None:
        return slugs.FUNCTIONAL_VALUE if judging.reference.tape.is_leaf(ref) else slugs.FUNCTIONAL_INNER_INPUT
    differ = (t is not None and not np.array_equal(t.value, tensor.value, equal_nan=True) for t in twins)
    return slugs.FUNCTIONAL_DUPLICATES if any(differ) else slugs.FUNCTIONAL_VALUE


def _check_gradient(
    judging: Judging,
    at: int,
    step: Grad,
    place: int,
    tensor: Tensor,
    values: Values,
    want: np.ndarray | None,
    expectation: Expectation,
) -> Violation | None:
    """Returns the violation if a result has wrong elements; zeros are right for an input that is not used."""
    out, ref = Ref(at, place), step.inputs[place]
    want = np.zeros_like(judging.reference.values[ref]) if want is None else want
    if tensor.value.shape != want.shape:
        difference, expected = ResultShape(tensor.value.shape), ResultShape(want.shape)
        return judging.differs(slugs.FUNCTIONAL_VALUE, at, out, difference, expected, step)
    if is_right_without_bound(judging, tensor.value, want, tensor.dtype):
        return None
    bound = contribution_bound(judging, step, ref)
    if bound.allows(np.abs(tensor.value - want)):
        return None
    traversal, rule = expectation.traversal, _input_rule(judging, step, place, values)
    if rule == slugs.FUNCTIONAL_VALUE and not judging.tape.imperative:  # there is no imperative form to show the error
        rule = slugs.GRADIENTS_OP if traversal.alone else slugs.GRADIENTS_GRAPH
    rule = rule_of_gradient(judging, expectation, rule)
    if not judging.applies(rule):
        return None
    got = {r: None if t is None else t.value for r, t in zip(step.inputs, values, strict=True)}
    diagnosis = diagnose(judging.reference, step, ref, {}, got, alone=rule == slugs.GRADIENTS_OP)
    undiagnosed = Violation(
        rule, at, OtherGradient(Place.RESULT), (Allowed(RightGradient(Place.RESULT), rule),), out,
        op_of_rule(rule, traversal), got=tensor.value, want=want, bound=bound.curved(),
    )  # fmt: skip
    if diagnosis is None:
        return undiagnosed
    if RULES[rule].general and judging.applies(diagnosis.rule):
        rule = diagnosis.rule
    return diagnosed(undiagnosed, diagnosis, rule, op_of_rule(rule, traversal))
