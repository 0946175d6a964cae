"""Checks of hooks: with which gradients they were called, how often, and in which order."""

from __future__ import annotations

from collections import Counter

from autograd_conformance.programs import slugs
from autograd_conformance.programs.language import Backward, BackwardCall, Hook, Ref
from autograd_conformance.programs.observations import HookCall, Kind, StepObservation
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.programs.slugs import Slug
from autograd_conformance.reference.rounding.bounds import gradient_bound
from autograd_conformance.rules.judge.checks.contributions import is_right_without_bound, is_same, value_of
from autograd_conformance.rules.judge.state import Judging
from autograd_conformance.rules.violations.behaviour import Expected, Observed
from autograd_conformance.rules.violations.expected import ExpectedError, RegistrationOrder, RightGradient
from autograd_conformance.rules.violations.observed import HookOrder, OtherGradient
from autograd_conformance.rules.violations.shared import GradientForm, HookCalled, HookCalledTimes, HookNotCalled, Place
from autograd_conformance.rules.violations.violation import Allowed, Violation
from autograd_conformance.tape.graph import Expectation
from autograd_conformance.tape.traversal import ZERO


def check(
    judging: Judging, at: int, call: BackwardCall, expectation: Expectation, observed: StepObservation
) -> Violation | None:
    """Returns the violation if a call that returned did not call each hook as often, in the order and with the gradient
    that it must.
    """
    reference, traversal = judging.reference, expectation.traversal
    if not reference.hooks.on and not reference.hooks.accumulated and not observed.fired:
        return None
    expected = dict(reference.pullbacks.hook_calls(call))
    must = {handle for handle, _ in judging.tape.hooks_on(traversal.must_fire - reference.views.rebased)}
    may = {handle for handle, _ in judging.tape.hooks_on(traversal.may_fire | traversal.must_fire)}
    after: set[Ref] = set()
    """The hooks that run after the gradient was added."""
    if isinstance(call, Backward):
        reached = traversal.must_reach | traversal.may_fire
        may |= {handle for edge in reached for handle, _ in reference.hooks.accumulated.get(edge, ())}
        after = {
            handle
            for leaf in traversal.leaves
            for handle, _ in reference.hooks.accumulated.get(reference.tape.edge(leaf), ())
        }
    return (
        _check_calls(judging, at, call, observed, must | may | after)
        or _check_omissions(judging, at, call, observed, expected, must, after)
        or _check_arguments(judging, at, call, observed, expected, must, after, expectation.raises.get(Kind.MODIFIED))
        or _check_order(judging, at, call, observed, must)
    )


def _check_calls(
    judging: Judging, at: int, call: BackwardCall, observed: StepObservation, may_be_called: set[Ref]
) -> Violation | None:
    """Returns the violation if a hook was called that must not be, or was called more than once."""
    for handle, times in Counter(fired.hook for fired in observed.fired).items():
        if handle not in may_be_called:
            rule = slugs.HOOKS_REMOVED if _is_removed(judging, handle) else slugs.HOOKS_CALLED
            return _violation(judging, rule, at, handle, HookCalled(), HookNotCalled(), call)
        if times > 1:
            return _violation(judging, slugs.HOOKS_CALLED, at, handle, HookCalledTimes(times), HookCalledTimes(1), call)
    return None


def _check_omissions(
    judging: Judging,
    at: int,
    call: BackwardCall,
    observed: StepObservation,
    expected: dict[Ref, np.ndarray],
    must: set[Ref],
    after: set[Ref],
) -> Violation | None:
    """Returns the violation if a hook was not called that must be."""
    called = {fired.hook for fired in observed.fired}
    for handle in sorted(must):
        if handle not in called and expected.get(handle) is not None and _must_be_called(expected[handle]):
            return _violation(judging, slugs.HOOKS_CALLED, at, handle, HookNotCalled(), HookCalled(), call)
    contributed = judging.reference.pullbacks.of(call)
    for handle in sorted(after):
        value = contributed.get(judging.reference.tape.edge(_hook_of(judging, handle).target))
        if handle not in called and value is not None and _must_be_called(value):
            return _violation(judging, slugs.HOOKS_ACCUMULATED, at, handle, HookNotCalled(), HookCalled(), call)
    return None


def _check_arguments(
    judging: Judging,
    at: int,
    call: BackwardCall,
    observed: StepObservation,
    expected: dict[Ref, np.ndarray],
    must: set[Ref],
    after: set[Ref],
    modified: Slug | None,
) -> Violation | None:
    """Returns the violation if a hook was called with a wrong gradient. `modified`, if given, is the rule by which the
    call may raise instead, because a saved tensor was written to; then wrong numbers in a hook, except in one that is
    called after accumulation, break that rule.
    """
    for fired in observed.fired:
        target, want = _hook_of(judging, fired.hook).target, expected.get(fired.hook)
        dtype = judging.dtypes.get(target)
        if fired.value is not None and fired.dtype is not None and dtype is not None and fired.dtype != dtype:
            rule, shape = slugs.HOOKS_ACCUMULATED if fired.hook in after else slugs.HOOKS_CALLED, fired.value.shape
            difference, form = GradientForm(shape, fired.dtype), GradientForm(shape, dtype)
            return _violation(judging, rule, at, fired.hook, difference, form, call)
        if fired.hook in after:  # the gradient of a leaf that the program dropped cannot be read
            gradient = observed.gradients.get(target)
            if target in observed.gradients and not is_same(fired.value, value_of(gradient)):
                place = Place.ACCUMULATED_HOOK
                observed_gradient, right_gradient = OtherGradient(place), RightGradient(place)
                return _violation(
                    judging, slugs.HOOKS_ACCUMULATED, at, fired.hook, observed_gradient, right_gradient, call
                )
        elif fired.hook in must and want is not None and not _is_right_gradient(judging, call, fired, target, want):
            rule, place = modified or slugs.HOOKS_CALLED, Place.HOOK
            if judging.applies(rule):
                allowed: tuple[Allowed, ...] = (Allowed(RightGradient(place), slugs.HOOKS_CALLED),)
                allowed += (Allowed(ExpectedError(Kind.MODIFIED), modified),) if modified else ()
                return Violation(rule, at, OtherGradient(place), allowed, target, got=fired.value, want=want)
    return None


def _is_right_gradient(judging: Judging, call: BackwardCall, fired: HookCall, target: Ref, want: np.ndarray) -> bool:
    """Whether a hook was called with the right gradient."""
    if fired.value is None:
        return not _must_be_called(want)
    if fired.value.shape != want.shape:
        return False
    if is_right_without_bound(judging, fired.value, want, fired.dtype):
        return True
    bound = gradient_bound(judging.reference, call, judging.reference.tape.edge(target), judging.dtype, fired.hook)
    return bound.allows(np.abs(fired.value - want))


def _check_order(
    judging: Judging, at: int, call: BackwardCall, observed: StepObservation, must: set[Ref]
) -> Violation | None:
    """Returns the violation if the hooks of one value were not called in the order of their registration."""
    place = {fired.hook: n for n, fired in enumerate(observed.fired)}
    for entries in judging.reference.hooks.on.values():
        order = [place[handle] for handle, _ in entries if handle in place and handle in must]
        if order != sorted(order):
            return _violation(judging, slugs.HOOKS_ORDER, at, entries[0][0], HookOrder(), RegistrationOrder(), call)
    return None


def _must_be_called(value: np.ndarray) -> bool:
    """Whether a hook must be called with this gradient: a gradient that is zero may stay undefined."""
    return bool(value.any()) and bool(np.abs(value).max() > ZERO)


def _is_removed(judging: Judging, handle: Ref) -> bool:
    on = (*judging.reference.hooks.on.values(), *judging.reference.hooks.accumulated.values())
    return all(handle != other for entries in on for other, _ in entries)


def _hook_of(judging: Judging, handle: Ref) -> Hook:
    step = judging.program[handle.at]
    assert isinstance(step, Hook)
    return step


def _violation(
    judging: Judging, rule: Slug, at: int, handle: Ref, difference: Observed, expected: Expected, call: BackwardCall
) -> Violation | None:
    """Returns the violation of a rule about a hook; its subject is the value on which the hook is registered."""
    return judging.differs(rule, at, _hook_of(judging, handle).target, difference, expected, call)
