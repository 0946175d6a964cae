"""What a framework did that it may not, as data: one small class for each way to differ from the rules.

`rules.explanation.words` makes English of them; nothing else does, and nothing reads that English.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from autograd_conformance.programs.language import Shape
from autograd_conformance.programs.observations import Gradient, Kind, Outcome, Raised, Tensor
from autograd_conformance.programs.own_numpy import np

MESSAGE = 200
"""How many characters of an exception's message are kept."""


# -- outcomes ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReturnedUnexpectedly:
    """An instruction returned that had to raise."""


@dataclass(frozen=True, slots=True)
class RaisedError:
    """An instruction raised an error that it may not raise."""

    kind: Kind
    type: str
    """The name of the exception's class."""
    message: str
    """The first line of the exception's message, with the next behind a colon; `MESSAGE` characters at most."""

    @staticmethod
    def of(raised: Raised) -> RaisedError:
        """The error of an outcome."""
        first, *more = raised.message.splitlines() or [""]
        first = f"{first} {more[0]}" if more and first.endswith(":") else first
        return RaisedError(raised.kind, raised.type, first[:MESSAGE])


# -- values -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ResultShape:
    """A result has a shape; also what is due."""

    shape: Shape


@dataclass(frozen=True, slots=True)
class ResultDtype:
    """A result, or what was written to, has a dtype; also what is due."""

    dtype: str


@dataclass(frozen=True, slots=True)
class OtherValue:
    """An op, a leaf or a detach returned numbers other than those of its definition."""


@dataclass(frozen=True, slots=True, eq=False)
class ImpossibleSample:
    """An op that draws at random returned numbers that it cannot have drawn."""

    value: np.ndarray


@dataclass(frozen=True, slots=True)
class OtherMove:
    """A step moved a leaf to another place."""


class ChangedValue(Enum):
    """Which value changed that had to stay."""

    TARGET = auto()
    """The value that was detached in place."""
    REFUSED = auto()
    """A value that a refused write would have written to."""
    ELSEWHERE = auto()
    """A value that shares no memory with the target of a write."""


@dataclass(frozen=True, slots=True)
class ValueChanged:
    """A value changed that had to stay as it was."""

    which: ChangedValue


class Flagged(Enum):
    """The value whose flag `requires_grad` is meant."""

    RESULT = auto()
    TARGET = auto()


@dataclass(frozen=True, slots=True)
class Flag:
    """A value requires grad, or does not; also what is due."""

    requires: bool
    of: Flagged = Flagged.RESULT


@dataclass(frozen=True, slots=True)
class OwnMemory:
    """A result has memory of its own; also what is due."""


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """A result shares an operand's memory; also what is due."""


@dataclass(frozen=True, slots=True)
class ValueMemory:
    """A result, or the gradient that a leaf holds, lies in the memory of something else that there is."""

    of: str
    """Whose memory it is: a value, by its name in the program's text."""
    of_gradient: bool = False
    """Whether it is the memory of the gradient that this value holds."""


@dataclass(frozen=True, slots=True)
class NoResult:
    """A result of the functional form is none; also what is due."""


@dataclass(frozen=True, slots=True)
class GradientResult:
    """A result of the functional form is a gradient; also what is due."""


# -- gradients --------------------------------------------------------------------------------------------------------


class Place(Enum):
    """Where a gradient was seen that is not the right one."""

    LEAF = auto()
    """In a leaf, after a call that returned."""
    FAILED_CALL = auto()
    """In a leaf, after a call that raised."""
    CLIPPED = auto()
    """In a leaf whose gradient was clipped."""
    RESULT = auto()
    """Among the results of the functional form."""
    HOOK = auto()
    """In a hook that is called before the gradient is added."""
    ACCUMULATED_HOOK = auto()
    """In a hook that is called after the gradient was added."""


HOOKS = (Place.HOOK, Place.ACCUMULATED_HOOK)


@dataclass(frozen=True, slots=True)
class OtherGradient:
    """A gradient has other numbers than it should."""

    place: Place


@dataclass(frozen=True, slots=True)
class NoGradient:
    """A leaf holds no gradient; also what is due."""


@dataclass(frozen=True, slots=True)
class GradientForm:
    """The form of a leaf's gradient; also what is due."""

    shape: Shape
    dtype: str


class Change(Enum):
    """What happened to a gradient that had to stay as it was."""

    CHANGED = auto()
    RECEIVED = auto()
    """There was none before."""
    LOST = auto()
    """There is none any more."""
    BY_FUNCTIONAL_FORM = auto()
    """The functional form, which returns gradients, changed what a leaf holds."""


@dataclass(frozen=True, slots=True)
class GradientChanged:
    """A leaf's gradient changed that had to stay as it was."""

    how: Change = Change.CHANGED


@dataclass(frozen=True, slots=True)
class ObjectKept:
    """The gradient object that a leaf held was changed."""


@dataclass(frozen=True, slots=True)
class ObjectReplaced:
    """A leaf holds another gradient object than before."""


@dataclass(frozen=True, slots=True)
class Strides:
    """The strides of a leaf's gradient, in elements; also what is due."""

    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SharedGradient:
    """Two leaves, given by their names in the program's text, hold one gradient, or two in the same memory."""

    one: str
    other: str


@dataclass(frozen=True, slots=True, eq=False)
class HoldsGradient:
    """What a leaf holds after its gradient was cleared or assigned; none where it holds no gradient."""

    value: np.ndarray | None


@dataclass(frozen=True, slots=True)
class CotangentWritten:
    """A call wrote into a cotangent that it was given."""

    number: int
    """Which of the call's cotangents it is."""


# -- hooks ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HookCalled:
    """A hook was called; also what is due."""


@dataclass(frozen=True, slots=True)
class HookNotCalled:
    """A hook was not called; also what is due."""


@dataclass(frozen=True, slots=True)
class HookCalledTimes:
    """A hook was called so many times by one backward call; also what is due."""

    times: int


@dataclass(frozen=True, slots=True)
class HookOrder:
    """The hooks of one value were not called in the order in which they were registered."""


# -- memory -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SavedTensorCount:
    """How many saved tensors are alive."""

    count: int


# -- two programs -----------------------------------------------------------------------------------------------------

ObservedValue = Tensor | Gradient | None
"""A value or a gradient as it was seen; none where there is none."""


@dataclass(frozen=True, slots=True)
class OutcomesDiffer:
    """The same instruction has one outcome in the first program, and another in the second."""

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
    """A value, or the gradient that it holds, is not the same in both programs."""

    name: str
    """The value's name in the first program's text."""
    gradient: bool
    """Whether the gradient that the value holds is meant."""
    first: ObservedValue
    second: ObservedValue


@dataclass(frozen=True, slots=True, eq=False)
class SumsDiffer:
    """A gradient of the first program is not the multiple that it should be of a sum of the second's gradients."""

    name: str
    """The name of the value in the first program whose gradient it is."""
    names: tuple[str, ...]
    """The names of the values in the second program whose gradients are added."""
    first: ObservedValue
    total: np.ndarray | None
    """The sum; none where the second program made no gradients."""


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
"""Every way to differ from the rules."""


def is_about_hook(observed: Observed) -> bool:
    """Whether a difference is about a hook: that it was called, how often, in which order, or with what."""
    if isinstance(observed, OtherGradient):
        return observed.place in HOOKS
    return isinstance(observed, HookDifference)
