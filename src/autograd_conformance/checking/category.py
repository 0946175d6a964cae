"""The category of a violation, in the words of the records. Failures are grouped and ordered by it."""

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
    """The category of a violation, such as a wrong value, a missing error or a wrong dtype.

    A gradient tensor that two leaves share counts as a wrong value: a write to one `.grad` silently changes the other.
    """
    match violation.observed:
        case ReturnedUnexpectedly():
            return Category("lost error", "returned", _expected(violation))
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


def _expected(violation: Violation) -> str | None:
    """Kind of the expected error."""
    return next(
        (each.expected.kind.value for each in violation.allowed if isinstance(each.expected, ExpectedError)), None
    )


def _raised(outcome: Outcome) -> str | None:
    """Kind of the raised error; None if nothing was raised."""
    match outcome:
        case Raised(kind):
            return kind.value
        case Returned() | Skipped():
            return None
        case _:
            assert_never(outcome)
