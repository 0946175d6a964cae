"""The behaviour that the rules allow where a framework differed, as data: one small class, with its English text, for
each. `shared` has the behaviours that may also be what a framework did, and `pairs` those of two programs.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from autograd_conformance.programs.observations import Kind
from autograd_conformance.rules.prose import saved_tensors
from autograd_conformance.rules.violations.behaviour import Expected
from autograd_conformance.rules.violations.shared import Place

# -- outcomes ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ExpectedReturn(Expected):
    """The instruction returns."""

    expected_clause = "returns"


@dataclass(frozen=True, slots=True)
class ExpectedError(Expected):
    """The instruction raises an error of a kind."""

    expected_clause = "raises: {self.kind.value}"

    kind: Kind


# -- values -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DefinedValue(Expected):
    """The value that follows from the definition of the instruction."""

    expected_clause = "returns its definition's value"


@dataclass(frozen=True, slots=True)
class DocumentedSample(Expected):
    """Numbers from the distribution that the op is documented to draw from."""

    expected_clause = "draws from the documented distribution"


class Movement(Enum):
    """The place to which an optimizer step must move a leaf, as a clause."""

    FORMULA = "the leaf moves by the optimizer's formula"
    """The leaf moves to the place that the optimizer's formula gives."""
    REMEMBERED = "the leaf moves by the optimizer's formula, with its state from earlier steps"
    """The leaf moves to the place that the formula gives with the optimizer's state from earlier steps."""
    VARIANT = "the leaf moves by the optimizer's formula, however that is implemented"
    """The leaf moves to the place that the formula gives, whichever implementation (such as fused) was requested."""
    GROUP = "the leaf moves by the settings of its parameter group"
    """The leaf moves to the place that the formula gives with the settings of the leaf's parameter group."""
    NOWHERE = "a leaf without a gradient stays as it is"
    """The leaf stays where it is, because it holds no gradient."""
    WITHOUT_SKIPPED = "the leaf moves as if the steps that skipped it had not happened"
    """The leaf moves to the place that the formula gives if the steps at which it held no gradient are left out."""


@dataclass(frozen=True, slots=True)
class ExpectedMove(Expected):
    """An optimizer step moves the leaf to the place that `where` names."""

    expected_clause = "{self.where.value}"

    where: Movement


# -- gradients --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RightGradient(Expected):
    """The right gradient, in the place where a wrong one was observed: a leaf, a result of the functional form, or a
    hook.
    """

    expected_clause = "{self.place.right}"

    place: Place

    def required_text(self, subject: str) -> str:
        """Returns the requirement on a named leaf as a clause, such as "x has to hold its gradient, clipped"."""
        clipped = self.place is Place.CLIPPED
        return f"{subject} has to hold its gradient, clipped" if clipped else self.expected_text()


@dataclass(frozen=True, slots=True)
class EqualElements(Expected):
    """Equal elements of the operands have equal results and gradients."""

    expected_clause = "equal elements must have equal results and gradients"
    required_clause = "{subject} has to have equal elements where the operands are equal"


@dataclass(frozen=True, slots=True)
class SameElsewhere(Expected):
    """An element is the number that another run of the program gives."""

    run: str
    """The other run, in words that complete "as": ``without torch.compile``."""
    number: float

    expected_clause = "the element is {self.number:g}, as {self.run}"
    required_clause = "{subject} has to have the same elements in every run"


@dataclass(frozen=True, slots=True)
class OldGradient(Expected):
    """After a call that failed, each leaf holds the gradient that it held before."""

    or_new: bool
    """Whether a leaf may hold the complete new gradient instead."""

    def expected_text(self) -> str:
        """Returns the behaviour as a clause, such as "each leaf holds its old gradient"."""
        return f"each leaf holds its old gradient{' or the complete new one' if self.or_new else ''}"


@dataclass(frozen=True, slots=True)
class AnyGradient(Expected):
    """The leaf holds a gradient."""

    expected_clause = "the leaf holds a gradient"


@dataclass(frozen=True, slots=True)
class ZeroGradient(Expected):
    """The leaf holds a gradient of zeros."""

    expected_clause = "the leaf holds zeros"
    required_clause = "{subject} has to hold zeros"


@dataclass(frozen=True, slots=True)
class AssignedGradient(Expected):
    """The leaf holds the gradient that was assigned to it."""

    expected_clause = "the leaf holds the assigned gradient"
    required_clause = "{subject} has to hold the assigned gradient"


@dataclass(frozen=True, slots=True)
class ZeroResult(Expected):
    """The result of the functional form is zeros."""

    expected_clause = "the result is zeros"
    required_clause = "{subject} has to be zeros"


class Kept(Enum):
    """The values or gradients that stay as they were, as a clause."""

    GRADIENTS = "gradients stay as they were"
    LEAF_GRADIENT = "the leaf's gradient stays as it was"
    """The gradient of the leaf that the violation is about."""
    OTHER_GRADIENTS = "other leaves keep their gradients"
    """The gradients of leaves that the instruction does not name."""
    VALUES = "values stay as they were"
    VALUES_ELSEWHERE = "values elsewhere stay as they were"
    """Values that share no memory with the target of an in-place change."""
    TARGET = "the target keeps its value"
    """The value that is detached in place."""
    COTANGENT = "the cotangent stays as it was"
    """A cotangent that the caller passed."""


@dataclass(frozen=True, slots=True)
class Unchanged(Expected):
    """Values or gradients stay as they were."""

    expected_clause = "{self.what.value}"

    what: Kept

    def required_text(self, subject: str) -> str:
        """Returns the clause that says which values or gradients have to stay as they were."""
        return "gradients have to stay as they were" if self.what is Kept.GRADIENTS else self.expected_text()


@dataclass(frozen=True, slots=True)
class NewObject(Expected):
    """The leaf gets a gradient object that it did not hold before."""

    expected_clause = "the leaf holds a new object"


@dataclass(frozen=True, slots=True)
class AddedInPlace(Expected):
    """The call adds in place to the gradient object that the leaf held."""

    expected_clause = "the gradient that it held is added to in place"


@dataclass(frozen=True, slots=True)
class OwnObject(Expected):
    """Each leaf holds a separate gradient object in separate memory."""

    expected_clause = "each leaf holds a separate gradient"


# -- hooks and memory -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RegistrationOrder(Expected):
    """The hooks of one value are called in the order in which they were registered."""

    expected_clause = "in the order of their registration"


@dataclass(frozen=True, slots=True)
class SavedTensorBounds(Expected):
    """The bound on the number of live saved tensors that was violated; both bounds if they are equal."""

    least: int | None
    most: int | None

    def expected_text(self) -> str:
        """Returns the bound as a clause, such as "at most 2 saved tensors are alive"."""
        return saved_tensors(self.least, self.most)
