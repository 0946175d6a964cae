"""What is drawn depends on the seed, and on nothing else that happens to be loaded; and each program on itself alone.

Hypothesis by itself mixes constants into what it draws, among them those that it finds in the source of every loaded
module that is not installed: so one seed would draw other programs for each framework's adapter, from a clone and from
the wheel, and in a worker that has loaded one file more than another. And it follows each program by up to five that
repeat parts of it, and keeps a tree of all that it has tried; where programs are as unlike as ours, that is time for
few that are new. So programs are drawn by a backend of ours, every choice evenly; Hypothesis shrinks what fails.
"""

from __future__ import annotations

from typing import Any

from hypothesis.internal.conjecture.providers import AVAILABLE_PROVIDERS, HypothesisProvider

BACKEND = "independent"
"""The name of the backend, as settings have it."""


class Independent(HypothesisProvider):
    """Draws each choice by itself, all that is allowed being as likely."""

    def draw_integer(
        self,
        min_value: int | None = None,
        max_value: int | None = None,
        *,
        weights: dict[int, float] | None = None,
        shrink_towards: int = 0,
    ) -> int:
        """A number between two bounds; without them, or with weights, as Hypothesis draws it."""
        if min_value is None or max_value is None or weights is not None:
            return super().draw_integer(min_value, max_value, weights=weights, shrink_towards=shrink_towards)
        assert self._random is not None
        return self._random.randint(min_value, max_value)

    def draw_bytes(self, min_size: int = 0, max_size: int = 0) -> bytes:
        """Bytes, so many as there have to be; where their number is open, as Hypothesis draws them."""
        if min_size != max_size:
            return super().draw_bytes(min_size, max_size)
        assert self._random is not None
        return self._random.randbytes(min_size)

    def _maybe_draw_constant(self, *constraints: Any, **more: Any) -> None:
        """No constant, wherever it may stand."""


AVAILABLE_PROVIDERS[BACKEND] = f"{__name__}.{Independent.__name__}"
