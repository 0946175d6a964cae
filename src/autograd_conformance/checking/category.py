"""In which way a violation differs from the rules, as the words that records hold: failures are grouped and ordered by
them.
"""

from __future__ import annotations

from typing import assert_never

from autograd_conformance.programs.observations import Outcome, Raised, Returned, Skipped
from autograd_conformance.reporting.records.failure import Deviation
from autograd_conformance.rules.violations.expected import DueError
from autograd_conformance.rules.violations.observed import (
    CallFailed,
    CotangentWritten,
    Drew,
    Flag,
    GradientChanged,
    GradientForm,
    GradientResult,
    HoldsGradient,
    HookCalled,
    HookCalledTimes,
    HookNotCalled,
    HookOrder,
    NoGradient,
    NoResult,
    ObjectKept,
    ObjectReplaced,
    OtherGradient,
    OtherPlace,
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


def category_of(violation: Violation) -> Deviation:
    """In which way a violation differs from the rules.

    A gradient that two leaves share counts as a wrong value: what is done to one of them is silently done to the other.
    """
    match violation.observed:
        case ReturnedUnexpectedly():
            return Deviation("lost error", "returned", _due(violation))
        case RaisedError(kind):
            return Deviation("wrong error", "raised", kind.value)
        case OutcomesDiffer(first, second):
            return Deviation("wrong error", "other outcome", _raised(first) or _raised(second))
        case CallFailed(outcome=outcome):
            return Deviation("wrong error", "call failed", _raised(outcome))
        case OtherGradient(place):
            return Deviation("value", f"other gradient, {place.name.lower().replace('_', ' ')}")
        case GradientChanged(how):
            return Deviation("value", f"gradient changed, {how.name.lower().replace('_', ' ')}")
        case ValueChanged(which):
            return Deviation("value", f"value changed, {which.name.lower()}")
        case OtherValue():
            return Deviation("value", "other value")
        case Drew():
            return Deviation("value", "other draw")
        case OtherPlace():
            return Deviation("value", "other place")
        case ResultShape():
            return Deviation("value", "other shape")
        case ResultDtype():
            return Deviation("form", "other dtype")
        case NoGradient():
            return Deviation("value", "no gradient")
        case NoResult():
            return Deviation("value", "no result")
        case GradientResult():
            return Deviation("value", "result in place of none")
        case HoldsGradient():
            return Deviation("value", "other gradient held")
        case SharedGradient():
            return Deviation("value", "shared gradient")
        case CotangentWritten():
            return Deviation("value", "cotangent written")
        case HookCalled():
            return Deviation("value", "hook called")
        case HookNotCalled():
            return Deviation("value", "hook not called")
        case HookCalledTimes():
            return Deviation("value", "hook called so often")
        case HookOrder():
            return Deviation("value", "order of hooks")
        case ValuesDiffer():
            return Deviation("value", "values differ")
        case SumsDiffer():
            return Deviation("value", "sums differ")
        case GradientForm(shape):
            due = [each.due.shape for each in violation.allowed if isinstance(each.due, GradientForm)]
            return Deviation("form" if not due or shape in due else "value", "form of a gradient")
        case Flag():
            return Deviation("form", "flag")
        case OwnMemory():
            return Deviation("form", "own memory")
        case SharedMemory():
            return Deviation("form", "shared memory")
        case ValueMemory():
            return Deviation("form", "memory of something else")
        case ObjectKept():
            return Deviation("form", "same gradient object")
        case ObjectReplaced():
            return Deviation("form", "other gradient object")
        case Strides():
            return Deviation("form", "strides")
        case SavedTensorCount():
            return Deviation("form", "saved tensors")
        case _:
            assert_never(violation.observed)


def _due(violation: Violation) -> str | None:
    """The kind of the error that was due."""
    return next((each.due.kind.value for each in violation.allowed if isinstance(each.due, DueError)), None)


def _raised(outcome: Outcome) -> str | None:
    """The kind of the error that was raised, if one was."""
    match outcome:
        case Raised(kind):
            return kind.value
        case Returned() | Skipped():
            return None
        case _:
            assert_never(outcome)
