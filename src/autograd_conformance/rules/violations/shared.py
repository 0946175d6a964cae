"""Behaviours that are a framework's wrong behaviour in one violation, and the behaviour that the rules require in
another; each is data with its English texts for both.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum

from autograd_conformance.programs.language import Shape
from autograd_conformance.rules.violations.behaviour import Expected, Observed, Severity

# -- values -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ResultShape(Observed, Expected):
    """Says that a result has this shape: as the wrong shape that was observed, or as the required one."""

    observed_clause = "a result of shape {self.shape}"
    expected_clause = "shape {self.shape}"
    category = "other shape"

    shape: Shape


@dataclass(frozen=True, slots=True)
class ResultDtype(Observed, Expected):
    """Says that a result, or the target of an in-place change, has this dtype: as the wrong dtype that was observed, or
    as the required one.
    """

    observed_clause = "the value is {self.dtype}"
    expected_clause = "{self.dtype}"
    category = "other dtype"
    severity = "form"

    dtype: str


class Flagged(Enum):
    """The value whose `requires_grad` flag is compared: the result of an instruction, or the target of an in-place
    change.
    """

    RESULT = "result"
    TARGET = "target"


@dataclass(frozen=True, slots=True)
class Flag(Observed, Expected):
    """Says that a value requires grad, or does not: as the wrong flag that was observed, or as the required one."""

    observed_clause = expected_clause = "the {self.of.value} requires {self.grad}"
    subject_clause = "it requires {self.grad}"
    category = "flag"
    severity = "form"

    requires: bool
    of: Flagged = Flagged.RESULT
    loses: bool = False
    """Whether a gradient that is not zero is lost with the flag, as a silently wrong number."""

    def severity_among(self, expected: Collection[Expected]) -> Severity:
        """Returns "value" if a gradient is lost, and else "form"."""
        return "value" if self.loses else self.severity

    @property
    def grad(self) -> str:
        """The text "grad" or "no grad", which follows the verb "requires" in a clause."""
        return "grad" if self.requires else "no grad"

    def required_text(self, subject: str) -> str:
        """Returns the clause "x has to require grad" or "x must not require grad", where x is the name of a value."""
        return f"{subject} {'has to' if self.requires else 'must not'} require grad"


@dataclass(frozen=True, slots=True)
class OwnMemory(Observed, Expected):
    """Says that a result has memory that no other value uses: as the wrong behaviour of a view, or as the required one
    of a copy.
    """

    observed_clause = expected_clause = "the result has separate memory"
    category = "own memory"
    severity = "form"


@dataclass(frozen=True, slots=True)
class SharedMemory(Observed, Expected):
    """Says that a result shares an operand's memory: as the wrong behaviour of a copy, or as the required one of a
    view.
    """

    observed_clause = "the result shares an operand's memory"
    expected_clause = "the value shares its source's memory"
    category = "shared memory"
    severity = "form"


@dataclass(frozen=True, slots=True)
class NoResult(Observed, Expected):
    """Says that a result of the functional form is None: as the wrong result for a used input, or as the required one
    for an unused input.
    """

    observed_clause = expected_clause = "the result is none"
    subject_clause = "it is none"
    required_clause = "{subject} has to be none"
    category = "no result"


@dataclass(frozen=True, slots=True)
class GradientResult(Observed, Expected):
    """Says that a result of the functional form is a gradient: as the wrong result for an unused input, or as the
    required one in place of None.
    """

    observed_clause = "the result is a gradient"
    expected_clause = "the result is the gradient"
    subject_clause = "it is a gradient"
    required_clause = "{subject} has to be the gradient"
    category = "result in place of none"


# -- gradients --------------------------------------------------------------------------------------------------------


class Place(Enum):
    """The place in which a gradient was observed, with the clauses for a wrong and for the right gradient there."""

    LEAF = "returned with another gradient", "returns with the right gradient"
    """The gradient that a leaf holds after a backward call that returned."""
    FAILED_CALL = "the failed call left another gradient", "each leaf holds the complete new gradient"
    """The gradient that a leaf holds after a backward call that raised."""
    CLIPPED = "the leaf holds another gradient", "the leaf holds its gradient, clipped"
    """The gradient that a leaf holds after the gradient was clipped."""
    RESULT = "returned another gradient", "returns the gradient"
    """A gradient that the functional form returned."""
    HOOK = "the hook was called with another gradient", "the hook is called with the value's whole gradient"
    """The gradient that was passed to a hook which runs before gradients are added to leaves."""
    ACCUMULATED_HOOK = (
        "the post-accumulate hook was called with another gradient",
        "the hook is called with the gradient that the leaf holds",
    )
    """The gradient that was passed to a hook which runs after the gradient of its leaf was added to."""

    def __init__(self, wrong: str, right: str) -> None:
        self.wrong = wrong
        self.right = right


@dataclass(frozen=True, slots=True)
class NoGradient(Observed, Expected):
    """Says that a leaf holds no gradient: as the wrong behaviour where a call reaches the leaf, or as the required one
    after clearing.
    """

    observed_clause = expected_clause = "the leaf holds no gradient"
    required_clause = "{subject} has to hold no gradient"
    category = "no gradient"


@dataclass(frozen=True, slots=True)
class GradientForm(Observed, Expected):
    """Says that the gradient of a leaf, or the one that a hook got, has this shape and dtype: as the wrong form that
    was observed, or as the required one.
    """

    observed_clause = "a gradient of shape {self.shape}, {self.dtype}"
    expected_clause = "shape {self.shape}, {self.dtype}"
    category = "form of a gradient"

    shape: Shape
    dtype: str

    def text_among(self, expected: Collection[GradientForm]) -> str:
        """Returns the form as a clause that says no more than what differs from the expected forms."""
        if self.shape in [each.shape for each in expected]:
            return f"a gradient of dtype {self.dtype}"
        if self.dtype in [each.dtype for each in expected]:
            return f"a gradient of shape {self.shape}"
        return self.observed_text()

    def severity_among(self, expected: Collection[Expected]) -> Severity:
        """Returns "form" if only the dtype is wrong, and "value" if the gradient has none of the shapes in `expected`,
        because its numbers are then wrong.
        """
        shapes = [each.shape for each in expected if isinstance(each, GradientForm)]
        return "form" if not shapes or self.shape in shapes else "value"


@dataclass(frozen=True, slots=True)
class Strides(Observed, Expected):
    """Says that a leaf's gradient has these strides, in elements: as the wrong strides that were observed, or as the
    required ones.
    """

    observed_clause = "the gradient has strides {self.strides}"
    expected_clause = "strides {self.strides}"
    category = "strides"
    severity = "form"

    strides: tuple[int, ...]


# -- hooks ------------------------------------------------------------------------------------------------------------


class HookDifference(Observed):
    """The base class of wrong behaviours that concern a hook."""

    __slots__ = ()

    def is_about_hook(self) -> bool:
        """Returns True, because every subclass concerns a hook."""
        return True


@dataclass(frozen=True, slots=True)
class HookCalled(HookDifference, Expected):
    """Says that a hook is called: as the wrong behaviour where the rules forbid the call, or as the required one where
    the call is missing.
    """

    observed_clause = "the hook was called"
    expected_clause = "the hook is called"
    subject_clause = "it was called"
    category = "hook called"


@dataclass(frozen=True, slots=True)
class HookNotCalled(HookDifference, Expected):
    """Says that a hook is not called: as the wrong behaviour where the rules require a call, or as the required one
    where they forbid it.
    """

    observed_clause = "the hook was not called"
    expected_clause = "the hook is not called"
    subject_clause = "it was not called"
    category = "hook not called"


@dataclass(frozen=True, slots=True)
class HookCalledTimes(HookDifference, Expected):
    """Says how many times one backward call calls a hook: as the wrong number that was observed, or as the required
    one.
    """

    observed_clause = "the hook was called {self.times} times"
    subject_clause = "it was called {self.times} times"
    category = "hook called so often"

    times: int

    def expected_text(self) -> str:
        """Returns the behaviour as a clause, such as "the hook is called once"."""
        return "the hook is called once" if self.times == 1 else f"the hook is called {self.times} times"
