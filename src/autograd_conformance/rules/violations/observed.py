"""Differences from the rules, as data: one small class, with its English text, for each way in which a framework can
differ. `shared` has the differences that may also be required behaviours, and `pairs` those between two programs.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from typing import Any

from autograd_conformance.programs.observations import Kind, Raised
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.rules.prose import saved_tensors
from autograd_conformance.rules.violations.behaviour import Expected, Observed
from autograd_conformance.rules.violations.expected import ExpectedError
from autograd_conformance.rules.violations.shared import HookDifference, Place

MESSAGE = 200
"""Maximum number of characters of an exception's message that a violation keeps."""


# -- outcomes ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReturnedUnexpectedly(Observed):
    """An instruction returned although it must raise."""

    observed_clause = category = "returned"
    severity = "lost error"

    def error_among(self, expected: Collection[Expected]) -> str | None:
        """Returns the kind of the missing error: the first kind that the rules allow."""
        return next((each.kind.value for each in expected if isinstance(each, ExpectedError)), None)


@dataclass(frozen=True, slots=True)
class RaisedError(Observed):
    """An instruction raised an error that it may not raise."""

    observed_clause = "raised: {self.kind.value} ({self.type}: {self.message})"
    category = "raised"
    severity = "wrong error"

    kind: Kind
    type: str
    """The name of the exception's class."""
    message: str
    """The first line of the exception's message, and the second if the first ends with a colon; at most `MESSAGE`
    characters.
    """

    @staticmethod
    def of(raised: Raised) -> RaisedError:
        """Returns the behaviour for the outcome of an instruction that raised, with a shortened message."""
        first, *more = raised.message.splitlines() or [""]
        first = f"{first} {more[0]}" if more and first.endswith(":") else first
        return RaisedError(raised.kind, raised.type, first[:MESSAGE])

    def observed_text(self) -> str:
        """Returns the error as a clause, such as "raised: graph freed (RuntimeError: ...)"."""
        if self.kind is Kind.UNKNOWN:
            return f"raised an error that the adapter's `classify` does not know ({self.type}: {self.message})"
        return self.observed_clause.format(self=self)

    def text_of_any_kind(self) -> str:
        """Returns the error as a clause; an error of no known kind without a word about the adapter."""
        return f"raised {self.type}: {self.message}" if self.kind is Kind.UNKNOWN else self.observed_text()

    def error_among(self, expected: Collection[Expected]) -> str | None:
        """Returns the kind of the unexpected error that the instruction raised, whatever behaviours were expected."""
        return self.kind.value


# -- values -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OtherValue(Observed):
    """An instruction returned, or wrote into memory, other numbers than its definition gives."""

    observed_clause = "returned another value"
    category = "other value"


@dataclass(frozen=True, slots=True, eq=False)
class ImpossibleSample(Observed):
    """A random op returned numbers that it cannot have drawn."""

    category = "other draw"

    value: np.ndarray

    def observed_text(self) -> str:
        """Returns the numbers that the op drew as a clause, such as "it drew [2.0]"."""
        return f"it drew {self.value.tolist()}"


@dataclass(frozen=True, slots=True)
class OtherMove(Observed):
    """An optimizer step moved a leaf to a wrong place, or moved a leaf that has to stay."""

    observed_clause = "the leaf has another value"
    category = "other place"


class ChangedValue(Enum):
    """The kind of value that changed although it must stay as it was, as a clause."""

    TARGET = "the target's value changed"
    """The value that was detached in place."""
    REFUSED = "the refused write changed a value"
    """A value that an in-place change would have altered, had it not been refused."""
    ELSEWHERE = "another value changed"
    """A value that shares no memory with the target of an in-place change."""


@dataclass(frozen=True, slots=True)
class ValueChanged(Observed):
    """A value changed although it must stay as it was."""

    observed_clause = "{self.which.value}"

    which: ChangedValue

    def category_text(self) -> str:
        """Returns the kind of difference, as the text that records contain: "value changed, target"."""
        return f"value changed, {self.which.name.lower()}"


@dataclass(frozen=True, slots=True)
class MovedMemory(Observed):
    """An instruction moved a value to other memory than that of a value that it shared memory with."""

    observed_clause = "it no longer shares the memory of {self.of}"
    category = "moved memory"
    severity = "form"

    of: str
    """The name, in the program's text, of the value that it shared memory with."""


@dataclass(frozen=True, slots=True)
class ValueMemory(Observed):
    """A result, or a leaf's gradient, uses the memory of another value or gradient."""

    observed_clause = "it shares the memory of {self.owner}"
    category = "memory of something else"
    severity = "form"

    of: str
    """The name, in the program's text, of the value whose memory is used."""
    of_gradient: bool = False
    """Whether the memory is that of the gradient which this value holds."""

    @property
    def owner(self) -> str:
        """The name of the value or gradient that the memory belongs to, such as "the gradient of x", in the program's
        text.
        """
        return f"the gradient of {self.of}" if self.of_gradient else self.of


# -- gradients --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OtherGradient(Observed):
    """A gradient has other numbers than the rules allow."""

    observed_clause = "{self.place.wrong}"

    place: Place

    def category_text(self) -> str:
        """Returns the kind of difference, as the text that records contain: "other gradient, leaf"."""
        return f"other gradient, {self.place.name.lower().replace('_', ' ')}"

    def is_about_hook(self) -> bool:
        """Whether the wrong gradient is one with which a hook was called."""
        return self.place in (Place.HOOK, Place.ACCUMULATED_HOOK)


@dataclass(frozen=True, slots=True)
class UnequalElements(Observed):
    """Two elements of a result or of a gradient differ, although the operands are equal there."""

    observed_clause = (
        "where the operands are equal, element {self.places[0]} of {self.of} is {self.numbers[0]}, and element "
        "{self.places[1]} is {self.numbers[1]}"
    )
    category = "unequal elements"

    of: str
    """The tensor with the elements: "the result", or "the gradient of the first operand"."""
    places: tuple[int, int]
    """The positions of both elements in row-major order."""
    numbers: tuple[float, float]


@dataclass(frozen=True, slots=True)
class DiffersFromRun(Observed):
    """An element of a result or of a gradient is another number than in another run of the program."""

    observed_clause = "element {self.place} of {self.of} is {self.number:g}"
    category = "differs from another run"

    of: str
    """The tensor with the element: "the result", or "the gradient of the first operand"."""
    place: int
    """The position of the element in row-major order."""
    number: float


class Change(Enum):
    """The way in which a gradient changed although it must stay as it was, as a clause."""

    CHANGED = "the leaf's gradient changed"
    RECEIVED = "the leaf received a gradient"
    """The leaf held no gradient before the instruction, and holds one after it."""
    LOST = "the leaf lost its gradient"
    """The leaf held a gradient before the instruction, and holds none after it."""
    BY_FUNCTIONAL_FORM = "the functional form changed the leaf's gradient"
    """The functional form, which returns gradients, changed the gradient that a leaf holds."""


@dataclass(frozen=True, slots=True)
class GradientChanged(Observed):
    """A leaf's gradient changed although it must stay as it was."""

    observed_clause = "{self.how.value}"

    how: Change = Change.CHANGED

    def subject_text(self) -> str:
        """Returns the change as a clause about a leaf that was named before, such as "its gradient changed"."""
        return "its gradient changed" if self.how is Change.CHANGED else self.observed_text()

    def category_text(self) -> str:
        """Returns the kind of difference, as the text that records contain: "gradient changed, lost"."""
        return f"gradient changed, {self.how.name.lower().replace('_', ' ')}"


@dataclass(frozen=True, slots=True)
class ObjectKept(Observed):
    """A call changed the gradient object that a leaf held, although it must give the leaf a new object."""

    observed_clause = "the same object was changed"
    category = "same gradient object"
    severity = "form"


@dataclass(frozen=True, slots=True)
class ObjectReplaced(Observed):
    """A call gave a leaf a new gradient object, although it must add to the old object in place."""

    observed_clause = "the leaf holds another object"
    category = "other gradient object"
    severity = "form"


@dataclass(frozen=True, slots=True)
class SharedGradient(Observed):
    """Two leaves hold the same gradient, or two gradients in the same memory. The leaves are given by name.

    A shared gradient counts as a wrong value: a write to one `.grad` silently changes the other.
    """

    observed_clause = "the gradients of {self.one} and {self.other} share memory"
    category = "shared gradient"

    one: str
    other: str


@dataclass(frozen=True, slots=True, eq=False)
class HoldsGradient(Observed):
    """The leaf holds a wrong gradient after gradients were cleared or assigned: `value`, or none if `value` is None."""

    observed_clause = "the leaf holds {self.elements}"
    subject_clause = "it holds {self.elements}"
    category = "other gradient held"

    value: np.ndarray | None

    @property
    def elements(self) -> Any:
        """The gradient's elements as a list; `none` if there is no gradient."""
        return "none" if self.value is None else self.value.tolist()


@dataclass(frozen=True, slots=True)
class CotangentWritten(Observed):
    """A call wrote into a cotangent that the caller passed."""

    observed_clause = "the call wrote into the cotangent that it was given"
    category = "cotangent written"

    number: int
    """The index, from 0, of the cotangent among those of the call."""


# -- hooks and memory -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HookOrder(HookDifference):
    """The hooks of one value were not called in the order in which they were registered."""

    observed_clause = "the hooks of one value were called in another order"
    category = "order of hooks"


@dataclass(frozen=True, slots=True)
class SavedTensorCount(Observed):
    """A number of live saved tensors that is outside the bounds that the rules allow."""

    category = "saved tensors"
    severity = "form"

    count: int

    def observed_text(self) -> str:
        """Returns the number as a clause, such as "2 saved tensors are alive"."""
        return saved_tensors(self.count, self.count)
