"""A violation in English: what was observed, and what the rules allow. The one place where its data becomes text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from autograd_conformance.programs.observations import Outcome, Raised, Returned, Skipped
from autograd_conformance.rules.judge.due import (
    AddedInPlace,
    AnyGradient,
    AssignedGradient,
    BothReturn,
    DefinedValue,
    DocumentedDraw,
    Due,
    GradientDue,
    HookDue,
    Kept,
    Movement,
    Moves,
    Multiple,
    NewObject,
    OldGradient,
    OwnObject,
    PairDue,
    Raises,
    RegistrationOrder,
    Returns,
    RightGradient,
    SameOutcome,
    SameValue,
    SavedTensorBounds,
    Unchanged,
    ValueDue,
    ZeroGradient,
    ZeroResult,
)
from autograd_conformance.rules.judge.observed import (
    CallFailed,
    Change,
    Changed,
    Drew,
    Flag,
    Flagged,
    Found,
    GradientChanged,
    GradientDifference,
    GradientForm,
    GradientResult,
    HeldGradient,
    HookCalled,
    HookCalledTimes,
    HookDifference,
    HookNotCalled,
    HookOrder,
    NoGradient,
    NoResult,
    ObjectKept,
    ObjectReplaced,
    Observed,
    OtherGradient,
    OtherPlace,
    OtherValue,
    OutcomesDiffer,
    OwnMemory,
    PairDifference,
    Place,
    RaisedError,
    ResultShape,
    ReturnedUnexpectedly,
    SavedTensorCount,
    SharedGradient,
    SharedMemory,
    Strides,
    SumsDiffer,
    ValueChanged,
    ValueDifference,
    ValuesDiffer,
)
from autograd_conformance.rules.judge.violation import Violation
from autograd_conformance.rules.prose import shown


def observed_text(violation: Violation) -> str:
    """What the framework did, as a clause."""
    return _observed(violation.observed)


def allowed_texts(violation: Violation) -> tuple[tuple[str, str], ...]:
    """What the framework might have done instead, each with the rule that allows it."""
    return tuple((due_text(allowed.due), allowed.rule) for allowed in violation.allowed)


def must_text(due: Due, subject: str) -> str:
    """What a rule demands of a value, a leaf or a hook, which is named, as a clause: "a has to hold zeros"."""
    match due:
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
            return f"{subject} has to hold what was assigned"
        case RightGradient(Place.CLIPPED):
            return f"{subject} has to hold its gradient, clipped"
        case Unchanged(Kept.GRADIENTS):
            return "gradients have to stay as they were"
    return due_text(due)


def it_text(observed: Observed) -> str:
    """What the framework did, as a clause about a value, a leaf or a hook that was named before: "it holds zeros"."""
    match observed:
        case Flag(requires):
            return f"it requires {'' if requires else 'no '}grad"
        case NoResult():
            return "it is none"
        case GradientResult():
            return "it is a gradient"
        case HeldGradient(value):
            return f"it holds {'none' if value is None else value.tolist()}"
        case GradientChanged(Change.CHANGED):
            return "its gradient changed"
        case HookCalled():
            return "it was called"
        case HookNotCalled():
            return "it was not called"
        case HookCalledTimes(times):
            return f"it was called {times} times"
    return _observed(observed)


# -- what was observed ------------------------------------------------------------------------------------------------


def _observed(observed: Observed) -> str:
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
            return f"{_tensors(count)} {_are(count)} alive"
        case _:
            assert_never(observed)


CHANGED: Mapping[Changed, str] = {
    Changed.TARGET: "the target's value changed",
    Changed.REFUSED: "the refused write changed a value",
    Changed.ELSEWHERE: "another value changed",
}


def _value_difference(observed: ValueDifference) -> str:
    match observed:
        case ResultShape(shape):
            return f"a result of shape {shape}"
        case OtherValue():
            return "returned another value"
        case Drew(value):
            return f"it drew {value.tolist()}"
        case OtherPlace():
            return "the leaf has another value"
        case ValueChanged(which):
            return CHANGED[which]
        case Flag():
            return _flag(observed)
        case OwnMemory():
            return "the result has memory of its own"
        case SharedMemory():
            return "the result shares an operand's memory"
        case NoResult():
            return "the result is none"
        case GradientResult():
            return "the result is a gradient"
        case _:
            assert_never(observed)


OTHER_GRADIENT: Mapping[Place, str] = {
    Place.LEAF: "returned with another gradient",
    Place.FAILED_CALL: "the failed call left another gradient",
    Place.CLIPPED: "the leaf holds another gradient",
    Place.RESULT: "returned another gradient",
    Place.HOOK: "the hook was called with another gradient",
    Place.ACCUMULATED_HOOK: "the hook saw another gradient",
}
CHANGES: Mapping[Change, str] = {
    Change.CHANGED: "the leaf's gradient changed",
    Change.RECEIVED: "the leaf received a gradient",
    Change.LOST: "the leaf lost its gradient",
    Change.BY_FUNCTIONAL_FORM: "what the leaf holds changed",
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
            return f"{one} and {other} hold the same gradient object"
        case HeldGradient(value):
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
            texts = forms if forms[0] != forms[1] else (_shown(first), _shown(second))
            return f"{what} is {texts[0]}, but {texts[1]} in the second program"
        case SumsDiffer(name, names, first, total):
            gets = "gets" if len(names) == 1 else "is"
            return f"{name} gets {_shown(first)}; in the second program {' + '.join(names)} {gets} {shown(total)}"
        case _:
            assert_never(observed)


def _outcome(outcome: Outcome) -> str:
    match outcome:
        case Raised(kind, error):
            return f"raises {error} ({kind.value})"
        case Returned():
            return "returns"
        case Skipped():
            return "cannot go on"
        case _:
            assert_never(outcome)


def _form(found: Found) -> str:
    """The dtype, the shape and the flag of a value."""
    if found is None:
        return "none"
    flag = " that requires grad" if found.requires_grad else ""
    return f"a {found.dtype} of shape {found.value.shape}{flag}"


def _shown(found: Found) -> str:
    return shown(None if found is None else found.value)


# -- what is allowed --------------------------------------------------------------------------------------------------


def due_text(due: Due) -> str:
    """What a rule allows, as a clause."""
    if isinstance(due, ValueDue):
        return _value_due(due)
    if isinstance(due, GradientDue):
        return _gradient_due(due)
    if isinstance(due, HookDue):
        return _hook_due(due)
    if isinstance(due, PairDue):
        return _pair_due(due)
    match due:
        case Returns():
            return "returns"
        case Raises(kind):
            return f"raises: {kind.value}"
        case Unchanged(what):
            return KEPT[what]
        case SavedTensorBounds(least, most):
            return saved_tensors_text(least, most, must=False)
        case _:
            assert_never(due)


KEPT: Mapping[Kept, str] = {
    Kept.GRADIENTS: "gradients stay as they were",
    Kept.LEAF_GRADIENT: "the leaf's gradient stays as it was",
    Kept.OTHER_GRADIENTS: "other leaves keep their gradients",
    Kept.VALUES: "values stay",
    Kept.VALUES_ELSEWHERE: "values elsewhere stay as they were",
    Kept.TARGET: "the target keeps its value",
}
MOVEMENTS: Mapping[Movement, str] = {
    Movement.FORMULA: "the leaf moves by the optimizer's formula",
    Movement.REMEMBERED: "the leaf moves by the optimizer's formula, which remembers earlier steps",
    Movement.VARIANT: "the leaf moves by the optimizer's formula, however that is implemented",
    Movement.GROUP: "the leaf moves by the settings of its own group",
    Movement.NOWHERE: "a leaf without a gradient stays as it is",
    Movement.WITHOUT_SKIPPED: "the leaf moves as if the steps that passed over it had not been",
}


def _value_due(due: ValueDue) -> str:
    match due:
        case ResultShape(shape):
            return f"shape {shape}"
        case DefinedValue():
            return "returns its definition's value"
        case DocumentedDraw():
            return "it draws what it is documented to draw"
        case Moves(where):
            return MOVEMENTS[where]
        case Flag():
            return _flag(due)
        case OwnMemory():
            return "the result has memory of its own"
        case SharedMemory():
            return "the result shares its operand's memory"
        case NoResult():
            return "the result is none"
        case GradientResult():
            return "the result is the gradient"
        case ZeroResult():
            return "the result is zeros"
        case _:
            assert_never(due)


RIGHT_GRADIENT: Mapping[Place, str] = {
    Place.LEAF: "returns with the right gradient",
    Place.FAILED_CALL: "each leaf holds the complete new gradient",
    Place.CLIPPED: "the leaf holds its gradient, clipped",
    Place.RESULT: "returns the gradient",
    Place.HOOK: "the hook is called with the value's whole gradient",
    Place.ACCUMULATED_HOOK: "what the leaf holds",
}


def _gradient_due(due: GradientDue) -> str:
    match due:
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
            return "the leaf holds what was assigned"
        case GradientForm(shape, dtype):
            return f"shape {shape}, {dtype}"
        case NewObject():
            return "the leaf holds a new object"
        case AddedInPlace():
            return "the gradient that it held is added to in place"
        case OwnObject():
            return "each leaf holds an object of its own"
        case Strides(strides):
            return f"strides {strides}"
        case _:
            assert_never(due)


def _hook_due(due: HookDue) -> str:
    match due:
        case HookCalled():
            return "the hook is called"
        case HookNotCalled():
            return "the hook is not called"
        case HookCalledTimes(times):
            return "the hook is called once" if times == 1 else f"the hook is called {times} times"
        case RegistrationOrder():
            return "in the order of their registration"
        case _:
            assert_never(due)


def _pair_due(due: PairDue) -> str:
    match due:
        case SameOutcome():
            return "does the same in both programs"
        case BothReturn():
            return "both programs return"
        case SameValue(name, gradient):
            return f"{f'the gradient of {name}' if gradient else name} is the same in both programs"
        case Multiple(factor):
            return f"the gradient is {'' if factor == 1 else f'{factor:g} times '}that of the second program"
        case _:
            assert_never(due)


# -- both -------------------------------------------------------------------------------------------------------------


def _flag(flag: Flag) -> str:
    whose = "result" if flag.of is Flagged.RESULT else "target"
    return f"the {whose} requires {'' if flag.requires else 'no '}grad"


def saved_tensors_text(least: int | None, most: int | None, must: bool) -> str:
    """How many saved tensors are alive, or must be."""
    count = (most if least is None else least) or 0
    bound = "" if least == most else "at most " if least is None else "at least "
    return f"{bound}{_tensors(count)} {('has to be' if count == 1 else 'have to be') if must else _are(count)} alive"


def _tensors(count: int) -> str:
    return "1 saved tensor" if count == 1 else f"{count} saved tensors"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
