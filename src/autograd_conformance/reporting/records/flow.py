"""Records of the gradients in a failing backward call, value by value, and of the tensors that its ops had saved."""

from __future__ import annotations

from dataclasses import dataclass

from autograd_conformance.reporting.prose import listed, shortened


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueGradient:
    """Gradient of one value in the failing call, expected and observed."""

    name: str
    """Name of the value in the code."""
    line: int
    """Line that made the value or last wrote to it, from 1."""
    through: tuple[int, ...]
    """Lines of the ops that use the value, and so pass gradients back to it, the last line first; empty for a root of
    the call.
    """
    expected: str
    observed: str | None = None
    """The observed gradient as text; None if the gradient could not be observed."""
    right: bool | None = None
    """Whether rounding explains the difference; None if the gradient could not be observed."""
    held: bool = False
    """True for the value's `.grad` after the call; False for the gradient that the call passes to the value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedTensor:
    """A tensor that an op of the graph saved, or may have saved, for its derivative."""

    line: int
    """Line of the op that saved the tensor."""
    name: str
    """Name of the value in the code."""
    version: int
    """Number of in-place writes to the tensor's memory before the op was recorded."""
    now: int
    """Number of in-place writes to the tensor's memory before the failing call."""
    freed_by: int | None = None
    """Line of the call that freed the tensor, or may have; None if no call did."""

    @property
    def stale(self) -> bool:
        """Whether the tensor was written to after it was saved."""
        return self.now > self.version


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientFlow:
    """Gradients that a failing call computes, in the order of the backward pass, and the tensors its ops had saved."""

    gradients: tuple[ValueGradient, ...] = ()
    saved: tuple[SavedTensor, ...] = ()

    @property
    def first(self) -> ValueGradient | None:
        """The first wrong gradient; all observed gradients before it are right. None if no gradient is wrong."""
        return next((each for each in self.gradients if each.right is False), None)


def gradient_name(gradient: ValueGradient) -> str:
    """Name of a gradient in text: ``a.grad`` or ``gradient of a``."""
    name = shortened(gradient.name, 16)
    return f"{name}.grad" if gradient.held else f"gradient of {name}"


def first_wrong_gradient(flow: GradientFlow) -> str:
    """Sentence about the first wrong gradient, its source and its value; empty if no gradient is wrong."""
    first = flow.first
    if first is None:
        return ""
    wrong = f"it is {first.observed}, but must be {first.expected}"
    if first.held and any(each.right and (each.name, each.line) == (first.name, first.line) for each in flow.gradients):
        passed = f"The gradient that the call computes for {first.name} (line {first.line}) is right"
        return f"{passed}, but {gradient_name(first)} is wrong: {wrong}."
    if first.held:
        place = f"{gradient_name(first)} (line {first.line})"
        return f"The first wrong gradient that could be observed is {place}: {wrong}."
    source = f", computed by {_lines(first.through)}" if first.through else ""
    return f"The first wrong gradient is that of {first.name} (line {first.line}){source}: {wrong}."


def _lines(through: tuple[int, ...]) -> str:
    numbers = listed(str(line) for line in sorted(through))
    return f"line {numbers}" if len(through) == 1 else f"lines {numbers}"
