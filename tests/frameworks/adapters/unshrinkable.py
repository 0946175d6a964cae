"""A framework that is wrong, in processes in which Hypothesis fails where it is to shrink what it found."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis.internal.conjecture.shrinker import Shrinker

from examples import tiny
from examples.tiny_adapter import Tiny


def _fails(self: Shrinker) -> None:
    raise IndexError("Index 2 out of range [-2, 2)")


class Unshrinkable(Tiny):
    """No gradient is ever cleared, and what shows it cannot be shrunk."""

    name = "unshrinkable"

    def reset(self) -> None:
        super().reset()
        Shrinker.shrink = _fails  # type: ignore[method-assign]

    def zero_grad(self, leaves: Sequence[tiny.Tensor], set_to_none: bool) -> None:
        """It does nothing."""
