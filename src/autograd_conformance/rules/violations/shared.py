"""Behaviours that are observed in one program and expected in another, as data."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum

from autograd_conformance.programs.language import Shape
from autograd_conformance.rules.violations.behaviour import Expected, Observed, Severity

# -- values -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ResultShape(Observed, Expected):
    """The shape of a result."""

    observed_clause = "a result of shape {self.shape}"
    expected_clause = "shape {self.shape}"
    category = "other shape"

    shape: Shape


@dataclass(frozen=True, slots=True)
class ResultDtype(Observed, Expected):
    """The dtype of a result or of the target of a write."""

    observed_clause = "the value is {self.dtype}"
    expected_clause = "{self.dtype}"
    category = "other dtype"
    severity = "form"

    dtype: str


class Flagged(Enum):
    """The value whose `requires_grad` flag is meant."""

    RESULT = "result"
    TARGET = "target"


@dataclass(frozen=True, slots=True)
class Flag(Observed, Expected):
    """A value requires grad, or does not."""

    observed_clause = expected_clause = "the {self.of.value} requires {self.grad}"
    subject_clause = "it requires {self.grad}"
    category = "flag"
    severity = "form"

    requires: bool
    of: Flagged = Flagged.RESULT

    @property
    def grad(self) -> str:
        """The object of the verb "requires"."""
        return "grad" if self.requires else "no grad"

    def required_text(self, subject: str) -> str:
        """The clause that says whether a named value has to require grad."""
        return f"{subject} {'has to' if self.requires else 'must not'} require grad"


@dataclass(frozen=True, slots=True)
class OwnMemory(Observed, Expected):
    """A result has memory that no other value uses."""

    observed_clause = expected_clause = "the result has separate memory"
    category = "own memory"
    severity = "form"


@dataclass(frozen=True, slots=True)
class SharedMemory(Observed, Expected):
    """A result shares an operand's memory."""

    observed_clause = "the result shares an operand's memory"
    expected_clause = "the result shares its operand's memory"
    category = "shared memory"
    severity = "form"


@dataclass(frozen=True, slots=True)
class NoResult(Observed, Expected):
    """A result of the functional form is None."""

    observed_clause = expected_clause = "the result is none"
    subject_clause = "it is none"
    required_clause = "{subject} has to be none"
    category = "no result"


@dataclass(frozen=True, slots=True)
class GradientResult(Observed, Expected):
    """A result of the functional form is a gradient."""

    observed_clause = "the result is a gradient"
    expected_clause = "the result is the gradient"
    subject_clause = "it is a gradient"
    required_clause = "{subject} has to be the gradient"
    category = "result in place of none"


# -- gradients --------------------------------------------------------------------------------------------------------


class Place(Enum):
    """The place in which a gradient was observed, with the clauses for a wrong and for the right gradient there."""

    LEAF = "returned with another gradient", "returns with the right gradient"
    """In a leaf, after a call that returned."""
    FAILED_CALL = "the failed call left another gradient", "each leaf holds the complete new gradient"
    """In a leaf, after a call that raised."""
    CLIPPED = "the leaf holds another gradient", "the leaf holds its gradient, clipped"
    """In a leaf whose gradient was clipped."""
    RESULT = "returned another gradient", "returns the gradient"
    """Among the results of the functional form."""
    HOOK = "the hook was called with another gradient", "the hook is called with the value's whole gradient"
    """In a hook that runs before the gradient is added."""
    ACCUMULATED_HOOK = (
        "the post-accumulate hook was called with another gradient",
        "the hook is called with the gradient that the leaf holds",
    )
    """In a hook that runs after the gradient was added."""

    def __init__(self, wrong: str, right: str) -> None:
        self.wrong = wrong
        self.right = right


@dataclass(frozen=True, slots=True)
class NoGradient(Observed, Expected):
    """A leaf holds no gradient."""

    observed_clause = expected_clause = "the leaf holds no gradient"
    required_clause = "{subject} has to hold no gradient"
    category = "no gradient"


@dataclass(frozen=True, slots=True)
class GradientForm(Observed, Expected):
    """The shape and dtype of a leaf's gradient."""

    observed_clause = "a gradient of shape {self.shape}, {self.dtype}"
    expected_clause = "shape {self.shape}, {self.dtype}"
    category = "form of a gradient"

    shape: Shape
    dtype: str

    def severity_among(self, expected: Collection[Expected]) -> Severity:
        """A wrong dtype is only a wrong form; a gradient of another shape has wrong numbers."""
        shapes = [each.shape for each in expected if isinstance(each, GradientForm)]
        return "form" if not shapes or self.shape in shapes else "value"


@dataclass(frozen=True, slots=True)
class Strides(Observed, Expected):
    """The strides of a leaf's gradient, in elements."""

    observed_clause = "the gradient has strides {self.strides}"
    expected_clause = "strides {self.strides}"
    category = "strides"
    severity = "form"

    strides: tuple[int, ...]


# -- hooks ------------------------------------------------------------------------------------------------------------


class HookDifference(Observed):
    """A difference about a hook."""

    __slots__ = ()

    def is_about_hook(self) -> bool:
        """It is about a hook."""
        return True


@dataclass(frozen=True, slots=True)
class HookCalled(HookDifference, Expected):
    """A hook is called."""

    observed_clause = "the hook was called"
    expected_clause = "the hook is called"
    subject_clause = "it was called"
    category = "hook called"


@dataclass(frozen=True, slots=True)
class HookNotCalled(HookDifference, Expected):
    """A hook is not called."""

    observed_clause = "the hook was not called"
    expected_clause = "the hook is not called"
    subject_clause = "it was not called"
    category = "hook not called"


@dataclass(frozen=True, slots=True)
class HookCalledTimes(HookDifference, Expected):
    """The number of times that one backward call calls a hook."""

    observed_clause = "the hook was called {self.times} times"
    subject_clause = "it was called {self.times} times"
    category = "hook called so often"

    times: int

    def expected_text(self) -> str:
        """The behaviour as a clause."""
        return "the hook is called once" if self.times == 1 else f"the hook is called {self.times} times"
