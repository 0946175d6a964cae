"""Choices: numbers, and one of several, each drawn so that a failure shrinks to the simplest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from hypothesis import strategies as st

from autograd_conformance.programs.language import Ref

Draw = Callable[[st.SearchStrategy[Any]], Any]
"""A function that draws from a strategy, as Hypothesis hands one to composite strategies."""

COIN = st.booleans()

RETAIN = st.sampled_from((None, True, False, True))
"""The argument `retain_graph` of a call."""


@lru_cache(maxsize=None)
def _below(n: int) -> st.SearchStrategy[int]:
    return st.integers(0, n - 1)


@lru_cache(maxsize=None)
def one_of(options: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    """One of several options, the first being the simplest."""
    return st.sampled_from(options)


class Choices:
    """Draws by `draw`, as few bytes as each choice needs."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw

    def below(self, n: int) -> int:
        """A number from 0 to n - 1; nothing is drawn where there is no choice."""
        return self.draw(_below(n)) if n > 1 else 0

    def pick(self, options: Sequence[Any]) -> Any:
        """One of several options, the first being the simplest."""
        return options[self.below(len(options))]

    def recent(self, options: Sequence[Ref]) -> Ref:
        """One of several values, half of the time the newest, which is the simplest."""
        return options[len(options) - 1 - self.back(len(options))]

    def back(self, n: int) -> int:
        """How many places to go back among `n`: none, half of the time, so that graphs grow deep."""
        back = self.below(2 * n - 1)  # one number for both choices: what lies beyond is the newest, too
        return back if back < n else 0
