"""The Hypothesis backend that draws the suites' programs: every choice is uniform and independent of the others.

Hypothesis's own backend follows each program by up to five that repeat parts of it, keeps a tree of all that it tried,
and records for each choice the data that shrinking needs. Our programs differ so much that this takes two thirds of the
time of drawing and gains nothing. This backend keeps the choices of a program to itself and passes them to Hypothesis
only if the program fails, so shrinking works as usual.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from hypothesis.errors import UnsatisfiedAssumption

from autograd_conformance.strategies.building.randomness import pool
from autograd_conformance.strategies.building.randomness.hypothesis_internals import (
    Provider,
    has_ended,
    provider_of,
    record,
    room,
)

T = TypeVar("T")

MOST = 1 << 15
"""Upper bound of the numbers that take at most `NUMBER` bytes of a program's size in Hypothesis; larger ones are drawn
by Hypothesis.
"""

NUMBER, FRAME = 3, 4
"""The most bytes that Hypothesis counts for a drawn number (`NUMBER`), and for drawn bytes in addition to their length
(`FRAME`).
"""


class Independent(Provider):
    """A Hypothesis provider that draws each choice uniformly and independently."""

    def __init__(self, conjecturedata: Any, /) -> None:
        super().__init__(conjecturedata)

        self._pending: list[int | bytes | bool] = []
        """The newest choices, not yet passed to Hypothesis."""

        self._room = 0
        """Number of bytes that the program can certainly still take."""

        self._pool = pool.current()
        self._drawing = None if self._pool is None or self.random is None else self._pool.draw(self.random)
        """Draws the program's choices, most of them repeated from an earlier program; None if no pool of earlier
        programs is in use.
        """

    # -- called by our strategies -------------------------------------------------------------------------------------

    def below(self, n: int) -> int:
        """Draws a number from 0 to n - 1; n is at most `MOST`."""
        if self._drawing is None:
            assert self.random is not None
            bits, size = self.random.getrandbits, n.bit_length()  # as `randrange`, without its checks of arguments
            number = bits(size)
            while number >= n > 0:
                number = bits(size)
        else:
            number = self._drawing.below(n)
        self._keep(number, NUMBER)
        return number

    def coin(self) -> bool:
        """Draws a boolean."""
        assert self.random is not None
        side = self.random.random() < 0.5 if self._drawing is None else self._drawing.coin()
        self._keep(side, NUMBER)
        return side

    def raw(self, size: int) -> bytes:
        """Draws `size` bytes."""
        assert self.random is not None
        data = self.random.randbytes(size) if self._drawing is None else self._drawing.raw(size)
        self._keep(data, size + FRAME)
        return data

    def part(self, act: Callable[[], T]) -> T:
        """Calls a function whose draws form a part that a later program may repeat or leave out as a whole, and returns
        its result.
        """
        return act() if self._drawing is None else self._drawing.part(act)

    # -- passing choices to Hypothesis --------------------------------------------------------------------------------

    def _keep(self, choice: int | bytes | bool, most: int) -> None:
        """Keeps a choice for which Hypothesis counts at most `most` bytes. If the size limit may be reached, passes all
        choices on.
        """
        self._pending.append(choice)
        self._room -= most
        if self._room < 0:
            self._flush()

    def _flush(self) -> None:
        """Passes the pending choices to Hypothesis, which stops the program if it is too large to shrink."""
        data, pending, self._pending = self.data, self._pending, []
        assert data is not None
        for choice in pending:
            record(data, choice)
        self._room = room(data)

    @contextmanager
    def per_test_case_context_manager(self) -> Iterator[None]:
        """Wraps the run of one program: if the program fails, passes its choices to Hypothesis."""
        try:
            yield
        except UnsatisfiedAssumption:  # it never ran
            raise
        except BaseException:
            if self.data is not None and not has_ended(self.data):
                self._flush()
            raise
        finally:
            if self._pool is not None:
                self._pool.forget()

    # -- called by Hypothesis -----------------------------------------------------------------------------------------

    def draw_boolean(self, p: float = 0.5) -> bool:
        """Draws a boolean as Hypothesis does."""
        self._flush()
        return super().draw_boolean(p)

    def draw_integer(
        self,
        min_value: int | None = None,
        max_value: int | None = None,
        *,
        weights: dict[int, float] | None = None,
        shrink_towards: int = 0,
    ) -> int:
        """Draws an integer between two bounds uniformly. Without both bounds, or with weights, Hypothesis draws it."""
        self._flush()
        if min_value is None or max_value is None or weights is not None:
            return super().draw_integer(min_value, max_value, weights=weights, shrink_towards=shrink_towards)
        assert self.random is not None
        return self.random.randint(min_value, max_value)

    def draw_bytes(self, min_size: int = 0, max_size: int = 0) -> bytes:
        """Draws bytes uniformly. If their number is not fixed, Hypothesis draws them."""
        self._flush()
        if min_size != max_size:
            return super().draw_bytes(min_size, max_size)
        assert self.random is not None
        return self.random.randbytes(min_size)

    def draw_float(self, *bounds: Any, **constraints: Any) -> float:
        """Draws a float as Hypothesis does."""
        self._flush()
        return super().draw_float(*bounds, **constraints)

    def draw_string(self, *bounds: Any, **constraints: Any) -> str:
        """Draws text as Hypothesis does."""
        self._flush()
        return super().draw_string(*bounds, **constraints)


def independent(draw: Any) -> Independent | None:
    """Returns the `Independent` backend of a composite strategy's `draw`; None if Hypothesis uses another backend."""
    provider = provider_of(draw)
    return provider if isinstance(provider, Independent) else None
