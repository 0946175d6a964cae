"""Draws numbers, bytes and list elements so that failures shrink to the simplest choice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeVar

from hypothesis import strategies as st

from autograd_conformance.programs.language import Ref
from autograd_conformance.strategies.building.randomness.independent import MOST, independent

Draw = Callable[[st.SearchStrategy[Any]], Any]
"""The function `draw` that Hypothesis passes to a composite strategy."""

T = TypeVar("T")

COIN = st.booleans()

RETAIN = (None, True, False, True)
"""Values of the argument `retain_graph`, drawn evenly, so that half of the draws give True."""

Rarity = Literal["beside", "mixed", "default", "created", "restricted"]
"""Names of rare features: "beside" (the second operand is a view of the first), "mixed" (operands of several dtypes),
"default" (another default dtype), "created" (a backward call with create_graph), "restricted" (one with inputs).
"""

RARE: dict[Rarity, int] = {"beside": 16, "mixed": 12, "default": 12, "created": 16, "restricted": 16}
"""For each rare feature, one in this many ops, calls or programs has it. Hypothesis treats ranges of up to 10 numbers
as alternatives.
"""


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
    """Draws choices with few bytes each: directly while programs are generated, and through Hypothesis while it shrinks
    or replays a program, which needs a record of each choice.
    """

    def __init__(self, draw: Draw) -> None:
        self.draw = draw

    @property
    def draw(self) -> Draw:
        """Hypothesis's function that draws a value from a strategy."""
        return self._draw

    @draw.setter
    def draw(self, draw: Draw) -> None:
        self._draw, self._direct = draw, independent(draw)

    def below(self, n: int) -> int:
        """Draws a number from 0 to n - 1. For n of 1 or less, returns 0 without a draw."""
        if n <= 1:
            return 0
        return self._draw(_below(n)) if self._direct is None or n > MOST else self._direct.below(n)

    def coin(self) -> bool:
        """Draws a boolean; False is simpler."""
        return self._draw(COIN) if self._direct is None else self._direct.coin()

    def raw(self, size: int) -> bytes:
        """Draws `size` bytes."""
        return self._draw(_raw(size)) if self._direct is None else self._direct.raw(size)

    def part(self, act: Callable[[], T]) -> T:
        """Calls a function whose draws form a part that shrinking may remove as a whole, and returns its result."""
        return self._draw(_part(self, act)) if self._direct is None else self._direct.part(act)

    def pick(self, options: Sequence[Any]) -> Any:
        """Draws one of several options, the first being the simplest."""
        return options[self.below(len(options))]

    def recent(self, options: Sequence[Ref]) -> Ref:
        """Draws one of several values: with probability one half the newest, which is the simplest."""
        return options[len(options) - 1 - self.back(len(options))]

    def back(self, n: int) -> int:
        """Draws a distance from 0 to n - 1: 0 with probability one half, so that graphs grow deep."""
        back = self.below(2 * n - 1)  # one number for both choices: numbers from n on mean 0, too
        return back if back < n else 0

    def rarely(self, rarity: Rarity) -> bool:
        """Draws whether this op or program has a rare feature."""
        return self.below(RARE[rarity]) == RARE[rarity] - 1
