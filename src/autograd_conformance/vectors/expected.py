"""The outcome that a vector expects of each instruction of its program, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from autograd_conformance.programs.language import Ref
from autograd_conformance.programs.observations import Kind
from autograd_conformance.programs.own_numpy import np

Json = Any

DIGITS = 3
"""Digits of a bound that are written; the last one is rounded up."""


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """An array that a program has to compute, with the largest allowed distance of each element."""

    value: np.ndarray
    """The exact elements."""
    bound: np.ndarray
    """The largest allowed distance from each element, in the same shape."""
    dtype: str
    """Name of the dtype that the array must have."""
    requires_grad: bool | None = None
    """Whether the array must require grad; None if the rules leave it open."""
    may_be_missing: bool = False
    """Whether the array is a gradient of zeros, in place of which there may be none."""

    def holds(self, value: np.ndarray) -> bool:
        """Whether an observed array has the right shape, and elements within the bounds."""
        return value.shape == self.value.shape and bool((np.abs(value - self.value) <= self.bound).all())

    def to_json(self) -> dict[str, Json]:
        """Returns the number as plain JSON: `shape`, `dtype`, `data` and `bound`, flat and row-major."""
        form: dict[str, Json] = {
            "shape": list(self.value.shape),
            "dtype": self.dtype,
            "data": self.value.ravel().tolist(),
            "bound": [_rounded_up(each) for each in self.bound.ravel().tolist()],
        }
        form |= {} if self.requires_grad is None else {"requires_grad": self.requires_grad}
        return form | {"may_be_missing": True} if self.may_be_missing else form


@dataclass(frozen=True, slots=True)
class Expected:
    """The outcome of an instruction: it has to return some results, to raise an error, or not to run at all."""

    returns: tuple[Number | None, ...] | None = None
    """The results; None in place of one is the gradient of an input that the call does not reach. None in place of the
    tuple: the instruction does not return.
    """
    raises: Kind | None = None
    """The kind of error that the instruction has to raise; None if it must not raise."""
    or_raises: Kind | None = None
    """The kind of error that the instruction may raise instead of returning. If it does, nothing after it is compared.
    """
    gradients: Mapping[Ref, Number | None] = field(default_factory=dict)
    """The gradient of every value that can hold one, after the instruction; None for a value that holds none."""
    values: Mapping[Ref, Number] = field(default_factory=dict)
    """Every existing value after an instruction that changes values in place; empty after others."""
    fired: Mapping[Ref, Number] = field(default_factory=dict)
    """The hooks that the instruction has to call once each, with their gradients, by the hooks' handles."""

    def to_json(self) -> dict[str, Json]:
        """Returns the expectation as plain JSON, in the words of the protocol's observations."""
        form: dict[str, Json] = {"skipped": True}
        if self.returns is not None:
            form = {"returned": [_optional(each) for each in self.returns]}
        elif self.raises is not None:
            form = {"raised": self.raises.name}
        if self.or_raises is not None:
            form["or_raised"] = self.or_raises.name
        if self.gradients:
            form["gradients"] = {str(ref): _optional(each) for ref, each in self.gradients.items()}
        if self.values:
            form["values"] = {str(ref): each.to_json() for ref, each in self.values.items()}
        if self.fired:
            form["fired"] = {str(ref): each.to_json() for ref, each in self.fired.items()}
        return form


def _optional(number: Number | None) -> Json:
    return None if number is None else number.to_json()


def _rounded_up(bound: float) -> float:
    return float(f"{bound * (1 + 0.6 * 10 ** (1 - DIGITS)):.{DIGITS - 1}e}")
