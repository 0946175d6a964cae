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
    """The same instruction has different outcomes in the two programs."""

    category = "other outcome"
    severity = "wrong error"

    first: Outcome
    second: Outcome
    place: int
    """The number of the instruction in the second program."""

    def observed_text(self) -> str:
        """Both outcomes as a clause."""
        return f"{_outcome(self.first)}; the second program {_outcome(self.second)} on line {self.place + 1}"

    def error_among(self, expected: Collection[Expected]) -> str | None:
        """The kind of the error that one of the programs raised."""
        return _raised(self.first) or _raised(self.second)


@dataclass(frozen=True, slots=True)
class CallFailed(Observed):
    """A call of one of the programs did not return."""

    category = "call failed"
    severity = "wrong error"

    which: int
    """0 for the first program, 1 for the second."""
    at: int
    """The number of the call in that program."""
    outcome: Outcome

    def observed_text(self) -> str:
        """The outcome of the call as a clause."""
        return f"the {('first', 'second')[self.which]} program {_outcome(self.outcome)} on line {self.at + 1}"

    def error_among(self, expected: Collection[Expected]) -> str | None:
        """The kind of the error that the call raised."""
        return _raised(self.outcome)


@dataclass(frozen=True, slots=True, eq=False)
class ValuesDiffer(Observed):
    """A value, or the gradient that it holds, differs between the two programs."""

    category = "values differ"

    name: str
    """The value's name in the first program's text."""
    gradient: bool
    """Whether the gradient that the value holds is meant."""
    first: ObservedValue
    second: ObservedValue

    def observed_text(self) -> str:
        """Both values as a clause; if their forms differ, the forms."""
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
    """The sum; None if the second program computed no gradients."""

    def observed_text(self) -> str:
        """The gradient and the sum as a clause."""
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
    """The kind of the raised error; None if nothing was raised."""
    return outcome.kind.value if isinstance(outcome, Raised) else None


def _named(name: str, gradient: bool) -> str:
    return f"the gradient of {name}" if gradient else name


def _form(found: ObservedValue) -> str:
    """The dtype, the shape and the flag of a value."""
    if found is None:
        return "none"
    flag = " that requires grad" if found.requires_grad else ""
    return f"a {found.dtype} of shape {found.value.shape}{flag}"


def _value(found: ObservedValue) -> np.ndarray | None:
    return None if found is None else found.value


# -- expected ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SameOutcome(Expected):
    """The instruction has the same outcome in both programs."""

    expected_clause = "has the same outcome in both programs"


@dataclass(frozen=True, slots=True)
class BothReturn(Expected):
    """The calls of both programs return."""

    expected_clause = "both programs return"


@dataclass(frozen=True, slots=True)
class SameValue(Expected):
    """A value, or the gradient that it holds, is the same in both programs."""

    name: str
    """The value's name in the first program's text."""
    gradient: bool
    """Whether the gradient that the value holds is meant."""

    def expected_text(self) -> str:
        """The behaviour as a clause."""
        return f"{_named(self.name, self.gradient)} is the same in both programs"


@dataclass(frozen=True, slots=True)
class Multiple(Expected):
    """The gradient is a multiple of the second program's."""

    factor: float

    def expected_text(self) -> str:
        """The behaviour as a clause."""
        return f"the gradient is {'' if self.factor == 1 else f'{self.factor:g} times '}that of the second program"
