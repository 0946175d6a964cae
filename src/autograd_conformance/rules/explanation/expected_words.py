"""The behaviour that the rules allow, in English."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from autograd_conformance.rules.violations.expected import (
    AddedInPlace,
    AnyGradient,
    AssignedGradient,
    BothReturn,
    DefinedValue,
    DocumentedSample,
    Expected,
    ExpectedError,
    ExpectedGradient,
    ExpectedHook,
    ExpectedMove,
    ExpectedPair,
    ExpectedReturn,
    ExpectedValue,
    Kept,
    Movement,
    Multiple,
    NewObject,
    OldGradient,
    OwnObject,
    RegistrationOrder,
    RightGradient,
    SameOutcome,
    SameValue,
    SavedTensorBounds,
    Unchanged,
    ZeroGradient,
    ZeroResult,
)
from autograd_conformance.rules.violations.observed import (
    Flag,
    Flagged,
    GradientForm,
    GradientResult,
    HookCalled,
    HookCalledTimes,
    HookNotCalled,
    NoGradient,
    NoResult,
    OwnMemory,
    Place,
    ResultDtype,
    ResultShape,
    SharedMemory,
    Strides,
)


def expected_text(expected: Expected) -> str:
    """The behaviour that a rule allows, as a clause."""
    if isinstance(expected, ExpectedValue):
        return _expected_value(expected)
    if isinstance(expected, ExpectedGradient):
        return _expected_gradient(expected)
    if isinstance(expected, ExpectedHook):
        return _expected_hook(expected)
    if isinstance(expected, ExpectedPair):
        return _expected_pair(expected)
    match expected:
        case ExpectedReturn():
            return "returns"
        case ExpectedError(kind):
            return f"raises: {kind.value}"
        case Unchanged(what):
            return KEPT[what]
        case SavedTensorBounds(least, most):
            return saved_tensors_text(least, most)
        case _:
            assert_never(expected)


KEPT: Mapping[Kept, str] = {
    Kept.GRADIENTS: "gradients stay as they were",
    Kept.LEAF_GRADIENT: "the leaf's gradient stays as it was",
    Kept.OTHER_GRADIENTS: "other leaves keep their gradients",
    Kept.VALUES: "values stay as they were",
    Kept.VALUES_ELSEWHERE: "values elsewhere stay as they were",
    Kept.TARGET: "the target keeps its value",
    Kept.COTANGENT: "the cotangent stays as it was",
}
MOVEMENTS: Mapping[Movement, str] = {
    Movement.FORMULA: "the leaf moves by the optimizer's formula",
    Movement.REMEMBERED: "the leaf moves by the optimizer's formula, with its state from earlier steps",
    Movement.VARIANT: "the leaf moves by the optimizer's formula, however that is implemented",
    Movement.GROUP: "the leaf moves by the settings of its parameter group",
    Movement.NOWHERE: "a leaf without a gradient stays as it is",
    Movement.WITHOUT_SKIPPED: "the leaf moves as if the steps that skipped it had not happened",
}


def _expected_value(expected: ExpectedValue) -> str:
    match expected:
        case ResultShape(shape):
            return f"shape {shape}"
        case ResultDtype(dtype):
            return dtype
        case DefinedValue():
            return "returns its definition's value"
        case DocumentedSample():
            return "draws from the documented distribution"
        case ExpectedMove(where):
            return MOVEMENTS[where]
        case Flag():
            return flag_text(expected)
        case OwnMemory():
            return "the result has separate memory"
        case SharedMemory():
            return "the result shares its operand's memory"
        case NoResult():
            return "the result is none"
        case GradientResult():
            return "the result is the gradient"
        case ZeroResult():
            return "the result is zeros"
        case _:
            assert_never(expected)


RIGHT_GRADIENT: Mapping[Place, str] = {
    Place.LEAF: "returns with the right gradient",
    Place.FAILED_CALL: "each leaf holds the complete new gradient",
    Place.CLIPPED: "the leaf holds its gradient, clipped",
    Place.RESULT: "returns the gradient",
    Place.HOOK: "the hook is called with the value's whole gradient",
    Place.ACCUMULATED_HOOK: "the hook is called with the gradient that the leaf holds",
}


def _expected_gradient(expected: ExpectedGradient) -> str:
    match expected:
        case RightGradient(place):
            return RIGHT_GRADIENT[place]
        case OldGradient(or_new):
            return f"each leaf holds its old gradient{' or the complete new one' if or_new else ''}"
        case AnyGradient():
            return "the leaf holds a gradient"
        case NoGradient():
            return "the leaf holds no gradient"
        case ZeroGradient():
            return "the leaf holds zeros"
        case AssignedGradient():
            return "the leaf holds the assigned gradient"
        case GradientForm(shape, dtype):
            return f"shape {shape}, {dtype}"
        case NewObject():
            return "the leaf holds a new object"
        case AddedInPlace():
            return "the gradient that it held is added to in place"
        case OwnObject():
            return "each leaf holds a separate gradient"
        case Strides(strides):
            return f"strides {strides}"
        case _:
            assert_never(expected)


def _expected_hook(expected: ExpectedHook) -> str:
    match expected:
        case HookCalled():
            return "the hook is called"
        case HookNotCalled():
            return "the hook is not called"
        case HookCalledTimes(times):
            return "the hook is called once" if times == 1 else f"the hook is called {times} times"
        case RegistrationOrder():
            return "in the order of their registration"
        case _:
            assert_never(expected)


def _expected_pair(expected: ExpectedPair) -> str:
    match expected:
        case SameOutcome():
            return "has the same outcome in both programs"
        case BothReturn():
            return "both programs return"
        case SameValue(name, gradient):
            return f"{f'the gradient of {name}' if gradient else name} is the same in both programs"
        case Multiple(factor):
            return f"the gradient is {'' if factor == 1 else f'{factor:g} times '}that of the second program"
        case _:
            assert_never(expected)


def must_text(expected: Expected, subject: str) -> str:
    """The behaviour that a rule requires of a named value, leaf or hook, as a clause: "a has to hold zeros"."""
    match expected:
        case Flag(requires):
            return f"{subject} {'has to' if requires else 'must not'} require grad"
        case NoResult():
            return f"{subject} has to be none"
        case GradientResult():
            return f"{subject} has to be the gradient"
        case ZeroResult():
            return f"{subject} has to be zeros"
        case NoGradient():
            return f"{subject} has to hold no gradient"
        case ZeroGradient():
            return f"{subject} has to hold zeros"
        case AssignedGradient():
            return f"{subject} has to hold the assigned gradient"
        case RightGradient(Place.CLIPPED):
            return f"{subject} has to hold its gradient, clipped"
        case Unchanged(Kept.GRADIENTS):
            return "gradients have to stay as they were"
    return expected_text(expected)


def flag_text(flag: Flag) -> str:
    """Whether a value requires grad, as a clause."""
    whose = "result" if flag.of is Flagged.RESULT else "target"
    return f"the {whose} requires {'' if flag.requires else 'no '}grad"


def saved_tensors_text(least: int | None, most: int | None, must: bool = False) -> str:
    """The number of saved tensors that are or must be alive, as a clause; None means no bound, and equal bounds an
    exact number.
    """
    count = (most if least is None else least) or 0
    bound = "" if least == most else "at most " if least is None else "at least "
    are, tensors = ("is", "has to be"), "1 saved tensor"
    if count != 1:
        are, tensors = ("are", "have to be"), f"{count} saved tensors"
    return f"{bound}{tensors} {are[must]} alive"
