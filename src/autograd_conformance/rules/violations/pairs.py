"""Differences between two related programs, and the agreement that the rules expect of them, as data."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import assert_never

from autograd_conformance.programs.observations import Gradient, Outcome, Raised, Returned, Skipped, Tensor
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.rules.prose import shown_with_distance
from autograd_conformance.rules.violations.behaviour import Expected, Observed

ObservedValue = Tensor | Gradient | None
"""A value or a gradient as it was observed; None if there was none."""

# -- observed ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OutcomesDiffer(Observed):
    """The same instruction has different outcomes in two related programs."""

    category = "other outcome"
    severity = "wrong error"

    first: Outcome
    second: Outcome
    place: int
    """The number, from 0, of the instruction in the second program."""

    def observed_text(self) -> str:
        """Returns both outcomes as a clause, such as "returns; the second program raises ... on line 3"."""
        return f"{_outcome(self.first)}; the second program {_outcome(self.second)} on line {self.place + 1}"

    def error_among(self, expected: Collection[Expected]) -> str | None:
        """Returns the kind of the error that the first program raised, or else the second, whatever behaviours were
        expected.
        """
        return _raised(self.first) or _raised(self.second)


@dataclass(frozen=True, slots=True)
class CallFailed(Observed):
    """A backward call of one program did not return, although all backward calls of the related program did."""

    category = "call failed"
    severity = "wrong error"

    which: int
    """0 for the first program, 1 for the second."""
    at: int
    """The number, from 0, of the call among the instructions of the program that `which` names."""
    outcome: Outcome

    def observed_text(self) -> str:
        """Returns the outcome of the call as a clause, such as "the second program raises ... on line 3"."""
        return f"the {('first', 'second')[self.which]} program {_outcome(self.outcome)} on line {self.at + 1}"

    def error_among(self, expected: Collection[Expected]) -> str | None:
        """Returns the kind of the error that the call raised, whatever behaviours were expected; None if the call was
        not run.
        """
        return _raised(self.outcome)


@dataclass(frozen=True, slots=True, eq=False)
class ValuesDiffer(Observed):
    """A value, or the gradient that it holds, differs between two related programs."""

    category = "values differ"

    name: str
    """The value's name in the first program's text."""
    gradient: bool
    """Whether the gradient that the value holds differs, and not the value itself."""
    first: ObservedValue
    second: ObservedValue

    def observed_text(self) -> str:
        """Returns both values as a clause, such as "x is 1.0, but 2.0 in the second program"; if their dtypes, shapes
        or flags differ, these instead of the elements.
        """
        what = _named(self.name, self.gradient)
        forms = _form(self.first), _form(self.second)
        if forms[0] != forms[1]:
            return f"{what} is {forms[0]}, but {forms[1]} in the second program"
        one, other, by = shown_with_distance(_value(self.first), _value(self.second))
        return f"{what} is {one}, but {other} in the second program{by}"


@dataclass(frozen=True, slots=True, eq=False)
class SumsDiffer(Observed):
    """A gradient of the first program differs from the required multiple of a sum of gradients of the second."""

    category = "sums differ"

    name: str
    """The name of the value in the first program that holds the gradient."""
    names: tuple[str, ...]
    """The names of the values in the second program whose gradients are summed."""
    first: ObservedValue
    total: np.ndarray | None
    """The sum of the second program's gradients; None if the second program computed none."""

    def observed_text(self) -> str:
        """Returns the gradient and the sum as a clause."""
        gets = "gets" if len(self.names) == 1 else "is"
        one, other, by = shown_with_distance(_value(self.first), self.total)
        return f"{self.name} gets {one}; in the second program {' + '.join(self.names)} {gets} {other}{by}"


def _outcome(outcome: Outcome) -> str:
    match outcome:
        case Raised(kind, error):
            return f"raises {error} ({kind.value})"
        case Returned():
            return "returns"
        case Skipped():
            return "lacks a value that it needs"
        case _:
            assert_never(outcome)


def _raised(outcome: Outcome) -> str | None:
    """Returns the kind of the raised error; None if nothing was raised."""
    return outcome.kind.value if isinstance(outcome, Raised) else None


def _named(name: str, gradient: bool) -> str:
    return f"the gradient of {name}" if gradient else name


def _form(found: ObservedValue) -> str:
    """Returns the dtype, shape and flag of a value as text, such as "a float32 of shape (2,) that requires grad"."""
    if found is None:
        return "none"
    flag = " that requires grad" if found.requires_grad else ""
    return f"a {found.dtype} of shape {found.value.shape}{flag}"


def _value(found: ObservedValue) -> np.ndarray | None:
    return None if found is None else found.value


# -- expected ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SameOutcome(Expected):
    """The instruction has the same outcome in both related programs."""

    expected_clause = "has the same outcome in both programs"


@dataclass(frozen=True, slots=True)
class BothReturn(Expected):
    """All backward calls of both related programs return."""

    expected_clause = "both programs return"


@dataclass(frozen=True, slots=True)
class SameValue(Expected):
    """A value, or the gradient that it holds, is the same in both related programs."""

    name: str
    """The value's name in the first program's text."""
    gradient: bool
    """Whether the gradient that the value holds has to be the same, and not the value itself."""

    def expected_text(self) -> str:
        """Returns the behaviour as a clause, such as "x is the same in both programs"."""
        return f"{_named(self.name, self.gradient)} is the same in both programs"


@dataclass(frozen=True, slots=True)
class Multiple(Expected):
    """A gradient of the first program is `factor` times a gradient, or a sum of gradients, of the second program."""

    factor: float

    def expected_text(self) -> str:
        """Returns the behaviour as a clause, such as "the gradient is 2 times that of the second program"."""
        return f"the gradient is {'' if self.factor == 1 else f'{self.factor:g} times '}that of the second program"
