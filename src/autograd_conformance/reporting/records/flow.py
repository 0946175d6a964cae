"""How the gradient went through a failing call, as records: value by value, and what the ops on the way had saved."""

from __future__ import annotations

from dataclasses import dataclass

from autograd_conformance.reporting.prose import listed, shortened


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueGradient:
    """The gradient of one value in the failing call: what it has to be, and what it was seen to be."""

    name: str
    """What the value is called in the code."""
    line: int
    """The line that made the value, or wrote to it last; lines count from 1."""
    through: tuple[int, ...]
    """The lines whose ops pass the gradient on to it, the last first; none where the call begins there."""
    expected: str
    observed: str | None = None
    """None where it could not be seen."""
    right: bool | None = None
    """Whether rounding explains the difference; None where it could not be seen."""
    held: bool = False
    """Whether it is what the value holds after the call (`.grad`), and not what the call passes on to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedTensor:
    """A value that an op on the way has saved, or may have, for its derivative."""

    line: int
    """The op's line."""
    name: str
    """What the value is called in the code."""
    version: int
    """How often its memory had been written to when the op was recorded."""
    now: int
    """How often it had been written to before the failing call."""
    freed_by: int | None = None
    """The line of the call that freed it, or may have; None where none did."""

    @property
    def stale(self) -> bool:
        """Whether it was written to since it was saved."""
        return self.now > self.version


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientFlow:
    """The gradients that a failing call passes on, in the order in which it does, and what the ops had saved."""

    gradients: tuple[ValueGradient, ...] = ()
    saved: tuple[SavedTensor, ...] = ()

    @property
    def first(self) -> ValueGradient | None:
        """The first gradient that is wrong: all that were seen before it are right."""
        return next((each for each in self.gradients if each.right is False), None)


def gradient_name(gradient: ValueGradient) -> str:
    """What the gradient is called."""
    name = shortened(gradient.name, 16)
    return f"{name}.grad" if gradient.held else f"gradient of {name}"


def first_wrong_gradient(flow: GradientFlow) -> str:
    """The first gradient that is wrong, in words: where it comes from, and what it is; empty where none is."""
    first = flow.first
    if first is None:
        return ""
    wrong = f"it is {first.observed}, and has to be {first.expected}"
    if first.held and any(each.right and (each.name, each.line) == (first.name, first.line) for each in flow.gradients):
        passed = f"What the call passes on to {first.name} (line {first.line}) is right"
        return f"{passed}, but {gradient_name(first)} is not: {wrong}."
    if first.held:
        return f"The first gradient that was seen to be wrong is {gradient_name(first)} (line {first.line}): {wrong}."
    ways = f", which {_lines(first.through)} on" if first.through else ""
    return f"The first gradient that is wrong is that of {first.name} (line {first.line}){ways}: {wrong}."


def _lines(through: tuple[int, ...]) -> str:
    numbers = listed(str(line) for line in sorted(through))
    return f"line {numbers} passes" if len(through) == 1 else f"lines {numbers} pass"
