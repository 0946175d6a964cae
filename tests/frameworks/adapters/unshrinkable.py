"""A faulty framework in whose processes Hypothesis fails during shrinking."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis.internal.conjecture.shrinker import Shrinker

from examples import tiny
from examples.tiny_adapter import Tiny


def _fails(self: Shrinker) -> None:
    raise IndexError("Index 2 out of range [-2, 2)")


class Unshrinkable(Tiny):
    """Gradients are never cleared, and the failing program cannot be shrunk."""

    name = "unshrinkable"

    def reset(self) -> None:
        super().reset()
        Shrinker.shrink = _fails  # type: ignore[method-assign]

    def zero_grad(self, leaves: Sequence[tiny.Tensor], set_to_none: bool) -> None:
        """No-op."""
