"""Choices: numbers, and one of several, each drawn so that a failure shrinks to the simplest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeVar

from hypothesis import strategies as st

from autograd_conformance.programs.language import Ref
from autograd_conformance.strategies.building.independent import MOST, independent

Draw = Callable[[st.SearchStrategy[Any]], Any]
"""A function that draws from a strategy, as Hypothesis hands one to composite strategies."""

T = TypeVar("T")

COIN = st.booleans()

RETAIN = (None, True, False, True)
"""The argument `retain_graph` of a call, drawn from these."""


@lru_cache(maxsize=None)
def _below(n: int) -> st.SearchStrategy[int]:
    return st.integers(0, n - 1)


@lru_cache(maxsize=None)
def _raw(size: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=size, max_size=size)


@st.composite
def _part(draw: Draw, choices: Choices, act: Callable[[], T]) -> T:
    choices.draw = draw
    return act()


class Choices:
    """Draws by `draw`, as few bytes as each choice needs: directly while programs are generated, and else by way of
    Hypothesis, which follows each choice to shrink it.
    """

    def __init__(self, draw: Draw) -> None:
        self.draw = draw

    @property
    def draw(self) -> Draw:
        """What draws from a strategy."""
        return self._draw

    @draw.setter
    def draw(self, draw: Draw) -> None:
        self._draw, self._direct = draw, independent(draw)

    def below(self, n: int) -> int:
        """A number from 0 to n - 1; nothing is drawn where there is no choice."""
        if n <= 1:
            return 0
        return self._draw(_below(n)) if self._direct is None or n > MOST else self._direct.below(n)

    def coin(self) -> bool:
        """False or True, False being the simpler one."""
        return self._draw(COIN) if self._direct is None else self._direct.coin()

    def raw(self, size: int) -> bytes:
        """So many bytes."""
        return self._draw(_raw(size)) if self._direct is None else self._direct.raw(size)

    def part(self, act: Callable[[], T]) -> T:
        """What a function makes whose draws shrinking may leave out together."""
        return self._draw(_part(self, act)) if self._direct is None else self._direct.part(act)

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
