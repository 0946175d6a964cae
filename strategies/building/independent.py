"""How choices are drawn while programs are generated: each by itself, and past what Hypothesis does to each.

Hypothesis follows each program by up to five that repeat parts of it, keeps a tree of all that it has tried, and of
each choice what it needs to shrink it; where programs are as unlike as ours, that is two thirds of the time of drawing,
for nothing. So programs are drawn by a backend of ours, every choice evenly, and only what a failing program was drawn
by is told to Hypothesis, which shrinks it as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from hypothesis.errors import UnsatisfiedAssumption
from hypothesis.internal.conjecture.providers import HypothesisProvider

from autograd_conformance.strategies.building import pool

T = TypeVar("T")

MOST = 1 << 15
"""Below this, numbers take at most `NUMBER` bytes of what Hypothesis lets a program have."""

NUMBER, FRAME = 3, 4
"""The most bytes that Hypothesis counts for a number, and for some bytes beyond themselves."""


class Independent(HypothesisProvider):
    """Draws each choice by itself, all that is allowed being as likely."""

    def __init__(self, conjecturedata: Any, /) -> None:
        super().__init__(conjecturedata)

        self._untold: list[int | bytes | bool] = []
        """The newest choices, of which Hypothesis does not know."""

        self._room = 0
        """How many bytes more are certain to have room."""

        self._pool = pool.current()
        self._near = None if self._pool is None or self._random is None else self._pool.draw(self._random)
        """What draws near an earlier program, where programs are drawn near others."""

    # -- what strategies of ours draw ---------------------------------------------------------------------------------

    def below(self, n: int) -> int:
        """A number from 0 to n - 1; n is at most `MOST`."""
        if self._near is None:
            assert self._random is not None
            bits, size = self._random.getrandbits, n.bit_length()  # what `randrange` does, without what it is asked
            number = bits(size)
            while number >= n > 0:
                number = bits(size)
        else:
            number = self._near.below(n)
        self._keep(number, NUMBER)
        return number

    def coin(self) -> bool:
        """True, half of the time."""
        assert self._random is not None
        side = self._random.random() < 0.5 if self._near is None else self._near.coin()
        self._keep(side, NUMBER)
        return side

    def raw(self, size: int) -> bytes:
        """So many bytes."""
        assert self._random is not None
        data = self._random.randbytes(size) if self._near is None else self._near.raw(size)
        self._keep(data, size + FRAME)
        return data

    def part(self, act: Callable[[], T]) -> T:
        """What a function makes whose draws belong together."""
        return act() if self._near is None else self._near.part(act)

    # -- what Hypothesis has to know ----------------------------------------------------------------------------------

    def _keep(self, choice: int | bytes | bool, most: int) -> None:
        """Keep a choice, for which Hypothesis counts some bytes at most."""
        self._untold.append(choice)
        self._room -= most
        if self._room < 0:
            self._tell()

    def _tell(self) -> None:
        """Tell Hypothesis of the choices so far; where that is more than it can shrink, the program ends."""
        data, told, self._untold = self._cd, self._untold, []
        assert data is not None
        for choice in told:
            match choice:
                case bool():
                    data.draw_boolean(forced=choice)
                case int():
                    data.draw_integer(forced=choice)
                case bytes():
                    data.draw_bytes(len(choice), len(choice), forced=choice)
        self._room = data.max_length - data.length

    @contextmanager
    def per_test_case_context_manager(self) -> Iterator[None]:
        """Around a program: what it was drawn by is told where it fails."""
        try:
            yield
        except UnsatisfiedAssumption:  # it never ran
            raise
        except BaseException:
            if self._cd is not None and not self._cd.frozen:
                self._tell()
            raise
        finally:
            if self._pool is not None:
                self._pool.forget()

    # -- what Hypothesis draws ----------------------------------------------------------------------------------------

    def draw_boolean(self, p: float = 0.5) -> bool:
        """A side of a coin."""
        self._tell()
        return super().draw_boolean(p)

    def draw_integer(
        self,
        min_value: int | None = None,
        max_value: int | None = None,
        *,
        weights: dict[int, float] | None = None,
        shrink_towards: int = 0,
    ) -> int:
        """A number between two bounds; without them, or with weights, as Hypothesis draws it."""
        self._tell()
        if min_value is None or max_value is None or weights is not None:
            return super().draw_integer(min_value, max_value, weights=weights, shrink_towards=shrink_towards)
        assert self._random is not None
        return self._random.randint(min_value, max_value)

    def draw_bytes(self, min_size: int = 0, max_size: int = 0) -> bytes:
        """Bytes, so many as there have to be; where their number is open, as Hypothesis draws them."""
        self._tell()
        if min_size != max_size:
            return super().draw_bytes(min_size, max_size)
        assert self._random is not None
        return self._random.randbytes(min_size)

    def draw_float(self, *bounds: Any, **constraints: Any) -> float:
        """A number as Hypothesis draws it."""
        self._tell()
        return super().draw_float(*bounds, **constraints)

    def draw_string(self, *bounds: Any, **constraints: Any) -> str:
        """Text as Hypothesis draws it."""
        self._tell()
        return super().draw_string(*bounds, **constraints)

    def _maybe_draw_constant(self, *constraints: Any, **more: Any) -> None:
        """No constant, wherever it may stand."""


def independent(draw: Any) -> Independent | None:
    """The backend behind what Hypothesis hands to a composite strategy, where it is ours."""
    provider = getattr(getattr(draw, "__self__", None), "provider", None)
    return provider if isinstance(provider, Independent) else None
