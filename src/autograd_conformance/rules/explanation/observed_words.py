"""The observed behaviour of a framework where it differs from the rules, in English."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from autograd_conformance.programs.observations import Outcome, Raised, Returned, Skipped
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.rules.explanation.expected_words import flag_text, saved_tensors_text
from autograd_conformance.rules.prose import shown_with_distance
from autograd_conformance.rules.violations.observed import (
    CallFailed,
    Change,
    ChangedValue,
    CotangentWritten,
    Flag,
    GradientChanged,
    GradientDifference,
    GradientForm,
    GradientResult,
    HoldsGradient,
    HookCalled,
    HookCalledTimes,
    HookDifference,
    HookNotCalled,
    HookOrder,
    ImpossibleSample,
    NoGradient,
    NoResult,
    ObjectKept,
    ObjectReplaced,
    Observed,
    ObservedValue,
    OtherGradient,
    OtherMove,
    OtherValue,
    OutcomesDiffer,
    OwnMemory,
    PairDifference,
    Place,
    RaisedError,
    ResultDtype,
    ResultShape,
    ReturnedUnexpectedly,
    SavedTensorCount,
    SharedGradient,
    SharedMemory,
    Strides,
    SumsDiffer,
    ValueChanged,
    ValueDifference,
    ValueMemory,
    ValuesDiffer,
)


def difference_text(observed: Observed) -> str:
    """The observed behaviour, as a clause."""
    if isinstance(observed, ValueDifference):
        return _value_difference(observed)
    if isinstance(observed, GradientDifference):
        return _gradient_difference(observed)
    if isinstance(observed, HookDifference):
        return _hook_difference(observed)
    if isinstance(observed, PairDifference):
        return _pair_difference(observed)
    match observed:
        case ReturnedUnexpectedly():
            return "returned"
        case RaisedError(kind, type_, message):
            return f"raised: {kind.value} ({type_}: {message})"
        case SavedTensorCount(count):
            return saved_tensors_text(count, count)
        case CotangentWritten():
            return "the call wrote into the cotangent that it was given"
        case _:
            assert_never(observed)


CHANGED: Mapping[ChangedValue, str] = {
    ChangedValue.TARGET: "the target's value changed",
    ChangedValue.REFUSED: "the refused write changed a value",
    ChangedValue.ELSEWHERE: "another value changed",
}


def _value_difference(observed: ValueDifference) -> str:
    match observed:
        case ResultShape(shape):
            return f"a result of shape {shape}"
        case ResultDtype(dtype):
            return f"the value is {dtype}"
        case OtherValue():
            return "returned another value"
        case ImpossibleSample(value):
            return f"it drew {value.tolist()}"
        case OtherMove():
            return "the leaf has another value"
        case ValueChanged(which):
            return CHANGED[which]
        case Flag():
            return flag_text(observed)
        case OwnMemory():
            return "the result has separate memory"
        case SharedMemory():
            return "the result shares an operand's memory"
        case ValueMemory():
            return f"it shares the memory of {owner_text(observed)}"
        case NoResult():
            return "the result is none"
        case GradientResult():
            return "the result is a gradient"
        case _:
            assert_never(observed)


def owner_text(observed: ValueMemory) -> str:
    """The owner of memory that is shared: a value, or the gradient of a value."""
    return f"the gradient of {observed.of}" if observed.of_gradient else observed.of


OTHER_GRADIENT: Mapping[Place, str] = {
    Place.LEAF: "returned with another gradient",
    Place.FAILED_CALL: "the failed call left another gradient",
    Place.CLIPPED: "the leaf holds another gradient",
    Place.RESULT: "returned another gradient",
    Place.HOOK: "the hook was called with another gradient",
    Place.ACCUMULATED_HOOK: "the post-accumulate hook was called with another gradient",
}
CHANGES: Mapping[Change, str] = {
    Change.CHANGED: "the leaf's gradient changed",
    Change.RECEIVED: "the leaf received a gradient",
    Change.LOST: "the leaf lost its gradient",
    Change.BY_FUNCTIONAL_FORM: "the functional form changed the leaf's gradient",
}


def _gradient_difference(observed: GradientDifference) -> str:
    match observed:
        case OtherGradient(place):
            return OTHER_GRADIENT[place]
        case NoGradient():
            return "the leaf holds no gradient"
        case GradientForm(shape, dtype):
            return f"a gradient of shape {shape}, {dtype}"
        case GradientChanged(how):
            return CHANGES[how]
        case ObjectKept():
            return "the same object was changed"
        case ObjectReplaced():
            return "the leaf holds another object"
        case Strides(strides):
            return f"the gradient has strides {strides}"
        case SharedGradient(one, other):
            return f"the gradients of {one} and {other} share memory"
        case HoldsGradient(value):
            return f"the leaf holds {'none' if value is None else value.tolist()}"
        case _:
            assert_never(observed)


def _hook_difference(observed: HookDifference) -> str:
    match observed:
        case HookCalled():
            return "the hook was called"
        case HookNotCalled():
            return "the hook was not called"
        case HookCalledTimes(times):
            return f"the hook was called {times} times"
        case HookOrder():
            return "the hooks of one value were called in another order"
        case _:
            assert_never(observed)


def _pair_difference(observed: PairDifference) -> str:
    match observed:
        case OutcomesDiffer(first, second, place):
            return f"{_outcome(first)}; the second program {_outcome(second)} on line {place + 1}"
        case CallFailed(which, at, outcome):
            return f"the {('first', 'second')[which]} program {_outcome(outcome)} on line {at + 1}"
        case ValuesDiffer(name, gradient, first, second):
            what = f"the gradient of {name}" if gradient else name
            forms = _form(first), _form(second)
            if forms[0] != forms[1]:
                return f"{what} is {forms[0]}, but {forms[1]} in the second program"
            one, other, by = shown_with_distance(_value(first), _value(second))
            return f"{what} is {one}, but {other} in the second program{by}"
        case SumsDiffer(name, names, first, total):
            gets = "gets" if len(names) == 1 else "is"
            one, other, by = shown_with_distance(_value(first), total)
            return f"{name} gets {one}; in the second program {' + '.join(names)} {gets} {other}{by}"
        case _:
            assert_never(observed)


def _outcome(outcome: Outcome) -> str:
    match outcome:
        case Raised(kind, error):
            return f"raises {error} ({kind.value})"
        case Returned():
            return "returns"
        case Skipped():
            return "lacks a value that it needs"
        case _:
            assert_never(outcome)


def _form(found: ObservedValue) -> str:
    """The dtype, the shape and the flag of a value."""
    if found is None:
        return "none"
    flag = " that requires grad" if found.requires_grad else ""
    return f"a {found.dtype} of shape {found.value.shape}{flag}"


def _value(found: ObservedValue) -> np.ndarray | None:
    return None if found is None else found.value


def it_text(observed: Observed) -> str:
    """The observed behaviour as a clause about a value, leaf or hook that was named before: "it holds zeros"."""
    match observed:
        case Flag(requires):
            return f"it requires {'' if requires else 'no '}grad"
        case NoResult():
            return "it is none"
        case GradientResult():
            return "it is a gradient"
        case HoldsGradient(value):
            return f"it holds {'none' if value is None else value.tolist()}"
        case GradientChanged(Change.CHANGED):
            return "its gradient changed"
        case HookCalled():
            return "it was called"
        case HookNotCalled():
            return "it was not called"
        case HookCalledTimes(times):
            return f"it was called {times} times"
    return difference_text(observed)
