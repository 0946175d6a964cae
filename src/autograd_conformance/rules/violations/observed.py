"""Differences from the rules, as data: one small class for each way in which a framework can differ.

`rules.explanation.words` is the only module that turns them into English, and no code reads that English.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from autograd_conformance.programs.language import Shape
from autograd_conformance.programs.observations import Gradient, Kind, Outcome, Raised, Tensor
from autograd_conformance.programs.own_numpy import np

MESSAGE = 200
"""Maximum number of characters of an exception's message that are kept."""


# -- outcomes ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReturnedUnexpectedly:
    """An instruction returned although it must raise."""


@dataclass(frozen=True, slots=True)
class RaisedError:
    """An instruction raised an error that it may not raise."""

    kind: Kind
    type: str
    """The name of the exception's class."""
    message: str
    """The first line of the exception's message, and the second if the first ends with a colon; at most `MESSAGE`
    characters.
    """

    @staticmethod
    def of(raised: Raised) -> RaisedError:
        """The error of an outcome."""
        first, *more = raised.message.splitlines() or [""]
        first = f"{first} {more[0]}" if more and first.endswith(":") else first
        return RaisedError(raised.kind, raised.type, first[:MESSAGE])


# -- values -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ResultShape:
    """The shape of a result (observed, or expected)."""

    shape: Shape


@dataclass(frozen=True, slots=True)
class ResultDtype:
    """The dtype of a result or of the target of a write (observed, or expected)."""

    dtype: str


@dataclass(frozen=True, slots=True)
class OtherValue:
    """An op, a leaf or a detach returned other numbers than its definition gives."""


@dataclass(frozen=True, slots=True, eq=False)
class ImpossibleSample:
    """A random op returned numbers that it cannot have drawn."""

    value: np.ndarray


@dataclass(frozen=True, slots=True)
class OtherMove:
    """An optimizer step moved a leaf to another place."""


class ChangedValue(Enum):
    """The kind of value that changed although it must stay as it was."""

    TARGET = auto()
    """The value that was detached in place."""
    REFUSED = auto()
    """A value that a refused write would have changed."""
    ELSEWHERE = auto()
    """A value that shares no memory with the target of a write."""


@dataclass(frozen=True, slots=True)
class ValueChanged:
    """A value changed although it must stay as it was."""

    which: ChangedValue


class Flagged(Enum):
    """The value whose `requires_grad` flag is meant."""

    RESULT = auto()
    TARGET = auto()


@dataclass(frozen=True, slots=True)
class Flag:
    """A value requires grad, or does not (observed, or expected)."""

    requires: bool
    of: Flagged = Flagged.RESULT


@dataclass(frozen=True, slots=True)
class OwnMemory:
    """A result has memory that no other value uses (observed, or expected)."""


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """A result shares an operand's memory (observed, or expected)."""


@dataclass(frozen=True, slots=True)
class ValueMemory:
    """A result, or a leaf's gradient, uses the memory of another value or gradient."""

    of: str
    """The name, in the program's text, of the value whose memory is used."""
    of_gradient: bool = False
    """Whether the memory is that of the gradient which this value holds."""


@dataclass(frozen=True, slots=True)
class NoResult:
    """A result of the functional form is None (observed, or expected)."""


@dataclass(frozen=True, slots=True)
class GradientResult:
    """A result of the functional form is a gradient (observed, or expected)."""


# -- gradients --------------------------------------------------------------------------------------------------------


class Place(Enum):
    """The place in which a gradient was observed."""

    LEAF = auto()
    """In a leaf, after a call that returned."""
    FAILED_CALL = auto()
    """In a leaf, after a call that raised."""
    CLIPPED = auto()
    """In a leaf whose gradient was clipped."""
    RESULT = auto()
    """Among the results of the functional form."""
    HOOK = auto()
    """In a hook that runs before the gradient is added."""
    ACCUMULATED_HOOK = auto()
    """In a hook that runs after the gradient was added."""


HOOKS = (Place.HOOK, Place.ACCUMULATED_HOOK)


@dataclass(frozen=True, slots=True)
class OtherGradient:
    """A gradient has other numbers than the rules allow."""

    place: Place


@dataclass(frozen=True, slots=True)
class NoGradient:
    """A leaf holds no gradient (observed, or expected)."""


@dataclass(frozen=True, slots=True)
class GradientForm:
    """The shape and dtype of a leaf's gradient (observed, or expected)."""

    shape: Shape
    dtype: str


class Change(Enum):
    """How a gradient changed that must stay as it was."""

    CHANGED = auto()
    RECEIVED = auto()
    """The leaf held no gradient before."""
    LOST = auto()
    """The leaf holds no gradient any more."""
    BY_FUNCTIONAL_FORM = auto()
    """The functional form, which returns gradients, changed the gradient that a leaf holds."""


@dataclass(frozen=True, slots=True)
class GradientChanged:
    """A leaf's gradient changed although it must stay as it was."""

    how: Change = Change.CHANGED


@dataclass(frozen=True, slots=True)
class ObjectKept:
    """The gradient object that a leaf already held was changed."""


@dataclass(frozen=True, slots=True)
class ObjectReplaced:
    """A leaf holds another gradient object than before."""


@dataclass(frozen=True, slots=True)
class Strides:
    """The strides of a leaf's gradient, in elements (observed, or expected)."""

    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SharedGradient:
    """Two leaves hold the same gradient, or two gradients in the same memory. The leaves are given by name."""

    one: str
    other: str


@dataclass(frozen=True, slots=True, eq=False)
class HoldsGradient:
    """The gradient that a leaf holds after it was cleared or assigned; None if it holds none."""

    value: np.ndarray | None


@dataclass(frozen=True, slots=True)
class CotangentWritten:
    """A call wrote into a cotangent that the caller passed."""

    number: int
    """The index of the cotangent among those of the call."""


# -- hooks ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HookCalled:
    """A hook was called (observed, or expected)."""


@dataclass(frozen=True, slots=True)
class HookNotCalled:
    """A hook was not called (observed, or expected)."""


@dataclass(frozen=True, slots=True)
class HookCalledTimes:
    """The number of times that one backward call called a hook (observed, or expected)."""

    times: int


@dataclass(frozen=True, slots=True)
class HookOrder:
    """The hooks of one value were not called in the order in which they were registered."""


# -- memory -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SavedTensorCount:
    """The number of saved tensors that are alive."""

    count: int


# -- two programs -----------------------------------------------------------------------------------------------------

ObservedValue = Tensor | Gradient | None
"""A value or a gradient as it was observed; None if there was none."""


@dataclass(frozen=True, slots=True)
class OutcomesDiffer:
    """The same instruction has different outcomes in the two programs."""

    first: Outcome
    second: Outcome
    place: int
    """The number of the instruction in the second program."""


@dataclass(frozen=True, slots=True)
class CallFailed:
    """A call of one of the programs did not return."""

    which: int
    """0 for the first program, 1 for the second."""
    at: int
    """The number of the call in that program."""
    outcome: Outcome


@dataclass(frozen=True, slots=True, eq=False)
class ValuesDiffer:
    """A value, or the gradient that it holds, differs between the two programs."""

    name: str
    """The value's name in the first program's text."""
    gradient: bool
    """Whether the gradient that the value holds is meant."""
    first: ObservedValue
    second: ObservedValue


@dataclass(frozen=True, slots=True, eq=False)
class SumsDiffer:
    """A gradient of the first program differs from the required multiple of a sum of gradients of the second."""

    name: str
    """The name of the value in the first program that holds the gradient."""
    names: tuple[str, ...]
    """The names of the values in the second program whose gradients are summed."""
    first: ObservedValue
    total: np.ndarray | None
    """The sum; None if the second program computed no gradients."""


ValueDifference = (
    ResultShape | ResultDtype | OtherValue | ImpossibleSample | OtherMove | ValueChanged | Flag | OwnMemory
    | SharedMemory | ValueMemory | NoResult | GradientResult
)  # fmt: skip
GradientDifference = (
    OtherGradient | NoGradient | GradientForm | GradientChanged | ObjectKept | ObjectReplaced | Strides | SharedGradient
    | HoldsGradient
)  # fmt: skip
HookDifference = HookCalled | HookNotCalled | HookCalledTimes | HookOrder
PairDifference = OutcomesDiffer | CallFailed | ValuesDiffer | SumsDiffer

Observed = (
    ReturnedUnexpectedly | RaisedError | SavedTensorCount | CotangentWritten | ValueDifference | GradientDifference
    | HookDifference | PairDifference
)  # fmt: skip
"""All ways to differ from the rules."""


def is_about_hook(observed: Observed) -> bool:
    """Whether a difference is about a hook: whether, how often, in which order or with which gradient it was called."""
    if isinstance(observed, OtherGradient):
        return observed.place in HOOKS
    return isinstance(observed, HookDifference)
