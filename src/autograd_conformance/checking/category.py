"""In which way a violation differs from the rules, as the words that records hold: failures are grouped and ordered by
them.
"""

from __future__ import annotations

from typing import assert_never

from autograd_conformance.programs.observations import Outcome, Raised, Returned, Skipped
from autograd_conformance.reporting.records.failure import Category
from autograd_conformance.rules.violations.expected import ExpectedError
from autograd_conformance.rules.violations.observed import (
    CallFailed,
    CotangentWritten,
    Flag,
    GradientChanged,
    GradientForm,
    GradientResult,
    HoldsGradient,
    HookCalled,
    HookCalledTimes,
    HookNotCalled,
    HookOrder,
    ImpossibleSample,
    NoGradient,
    NoResult,
    ObjectKept,
    ObjectReplaced,
    OtherGradient,
    OtherMove,
    OtherValue,
    OutcomesDiffer,
    OwnMemory,
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
    ValueMemory,
    ValuesDiffer,
)
from autograd_conformance.rules.violations.violation import Violation


def category_of(violation: Violation) -> Category:
    """In which way a violation differs from the rules.

    A gradient that two leaves share counts as a wrong value: what is done to one of them is silently done to the other.
    """
    match violation.observed:
        case ReturnedUnexpectedly():
            return Category("lost error", "returned", _due(violation))
        case RaisedError(kind):
            return Category("wrong error", "raised", kind.value)
        case OutcomesDiffer(first, second):
            return Category("wrong error", "other outcome", _raised(first) or _raised(second))
        case CallFailed(outcome=outcome):
            return Category("wrong error", "call failed", _raised(outcome))
        case OtherGradient(place):
            return Category("value", f"other gradient, {place.name.lower().replace('_', ' ')}")
        case GradientChanged(how):
            return Category("value", f"gradient changed, {how.name.lower().replace('_', ' ')}")
        case ValueChanged(which):
            return Category("value", f"value changed, {which.name.lower()}")
        case OtherValue():
            return Category("value", "other value")
        case ImpossibleSample():
            return Category("value", "other draw")
        case OtherMove():
            return Category("value", "other place")
        case ResultShape():
            return Category("value", "other shape")
        case ResultDtype():
            return Category("form", "other dtype")
        case NoGradient():
            return Category("value", "no gradient")
        case NoResult():
            return Category("value", "no result")
        case GradientResult():
            return Category("value", "result in place of none")
        case HoldsGradient():
            return Category("value", "other gradient held")
        case SharedGradient():
            return Category("value", "shared gradient")
        case CotangentWritten():
            return Category("value", "cotangent written")
        case HookCalled():
            return Category("value", "hook called")
        case HookNotCalled():
            return Category("value", "hook not called")
        case HookCalledTimes():
            return Category("value", "hook called so often")
        case HookOrder():
            return Category("value", "order of hooks")
        case ValuesDiffer():
            return Category("value", "values differ")
        case SumsDiffer():
            return Category("value", "sums differ")
        case GradientForm(shape):
            due = [each.expected.shape for each in violation.allowed if isinstance(each.expected, GradientForm)]
            return Category("form" if not due or shape in due else "value", "form of a gradient")
        case Flag():
            return Category("form", "flag")
        case OwnMemory():
            return Category("form", "own memory")
        case SharedMemory():
            return Category("form", "shared memory")
        case ValueMemory():
            return Category("form", "memory of something else")
        case ObjectKept():
            return Category("form", "same gradient object")
        case ObjectReplaced():
            return Category("form", "other gradient object")
        case Strides():
            return Category("form", "strides")
        case SavedTensorCount():
            return Category("form", "saved tensors")
        case _:
            assert_never(violation.observed)


def _due(violation: Violation) -> str | None:
    """The kind of the error that was due."""
    return next(
        (each.expected.kind.value for each in violation.allowed if isinstance(each.expected, ExpectedError)), None
    )


def _raised(outcome: Outcome) -> str | None:
    """The kind of the error that was raised, if one was."""
    match outcome:
        case Raised(kind):
            return kind.value
        case Returned() | Skipped():
            return None
        case _:
            assert_never(outcome)
