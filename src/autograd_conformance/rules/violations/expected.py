"""The behaviour that the rules allow where a framework differed, as data; `rules.explanation.words` turns it into
English.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from autograd_conformance.programs.observations import Kind
from autograd_conformance.rules.violations.observed import (
    Flag,
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

# -- outcomes ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ExpectedReturn:
    """The instruction returns."""


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """The instruction raises an error of a kind."""

    kind: Kind


# -- values -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DefinedValue:
    """The value that follows from the definition of the instruction."""


@dataclass(frozen=True, slots=True)
class DocumentedSample:
    """Numbers from the distribution that the op is documented to draw from."""


class Movement(Enum):
    """The place to which an optimizer step must move a leaf."""

    FORMULA = auto()
    """The place that the optimizer's formula gives."""
    REMEMBERED = auto()
    """The place that the formula gives, with the effect of earlier steps."""
    VARIANT = auto()
    """The place that the formula gives, whichever implementation was requested."""
    GROUP = auto()
    """The place that the formula gives with the settings of the leaf's parameter group."""
    NOWHERE = auto()
    """The same place, because the leaf holds no gradient."""
    WITHOUT_SKIPPED = auto()
    """The place that the formula gives if the steps at which the leaf held no gradient are left out."""


@dataclass(frozen=True, slots=True)
class ExpectedMove:
    """The step moves the leaf."""

    where: Movement


# -- gradients --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RightGradient:
    """The right gradient, in the place where it was observed."""

    place: Place


@dataclass(frozen=True, slots=True)
class OldGradient:
    """After a call that failed, each leaf holds the gradient that it held before."""

    or_new: bool
    """Whether a leaf may hold the complete new gradient instead."""


@dataclass(frozen=True, slots=True)
class AnyGradient:
    """The leaf holds a gradient."""


@dataclass(frozen=True, slots=True)
class ZeroGradient:
    """The leaf holds a gradient of zeros."""


@dataclass(frozen=True, slots=True)
class AssignedGradient:
    """The leaf holds the gradient that was assigned to it."""


@dataclass(frozen=True, slots=True)
class ZeroResult:
    """The result of the functional form is zeros."""


class Kept(Enum):
    """The values or gradients that stay as they were."""

    GRADIENTS = auto()
    LEAF_GRADIENT = auto()
    """The gradient of the leaf that the violation is about."""
    OTHER_GRADIENTS = auto()
    """The gradients of leaves that the instruction does not name."""
    VALUES = auto()
    VALUES_ELSEWHERE = auto()
    """Values that share no memory with the target of a write."""
    TARGET = auto()
    """The value that is detached in place."""
    COTANGENT = auto()
    """A cotangent that the caller passed."""


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Values or gradients stay as they were."""

    what: Kept


@dataclass(frozen=True, slots=True)
class NewObject:
    """The leaf gets a gradient object that it did not hold before."""


@dataclass(frozen=True, slots=True)
class AddedInPlace:
    """The call adds in place to the gradient object that the leaf held."""


@dataclass(frozen=True, slots=True)
class OwnObject:
    """Each leaf holds a separate gradient object in separate memory."""


# -- hooks and memory -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RegistrationOrder:
    """The hooks of one value are called in the order in which they were registered."""


@dataclass(frozen=True, slots=True)
class SavedTensorBounds:
    """The bound on the number of live saved tensors that was violated; both bounds if they are equal."""

    least: int | None
    most: int | None


# -- two programs -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SameOutcome:
    """The instruction has the same outcome in both programs."""


@dataclass(frozen=True, slots=True)
class BothReturn:
    """The calls of both programs return."""


@dataclass(frozen=True, slots=True)
class SameValue:
    """A value, or the gradient that it holds, is the same in both programs."""

    name: str
    """The value's name in the first program's text."""
    gradient: bool
    """Whether the gradient that the value holds is meant."""


@dataclass(frozen=True, slots=True)
class Multiple:
    """The gradient is a multiple of the second program's."""

    factor: float


ExpectedValue = (
    ResultShape | ResultDtype | DefinedValue | DocumentedSample | ExpectedMove | Flag | OwnMemory | SharedMemory
    | NoResult | GradientResult | ZeroResult
)  # fmt: skip
ExpectedGradient = (
    RightGradient | OldGradient | AnyGradient | NoGradient | ZeroGradient | AssignedGradient | GradientForm | NewObject
    | AddedInPlace | OwnObject | Strides
)  # fmt: skip
ExpectedHook = HookCalled | HookNotCalled | HookCalledTimes | RegistrationOrder
ExpectedPair = SameOutcome | BothReturn | SameValue | Multiple

Expected = (
    ExpectedReturn
    | ExpectedError
    | Unchanged
    | SavedTensorBounds
    | ExpectedValue
    | ExpectedGradient
    | ExpectedHook
    | ExpectedPair
)
"""All kinds of behaviour that rules require or permit."""
