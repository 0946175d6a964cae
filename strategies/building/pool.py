"""A pool of programs for frameworks to which a new function costs far more than a program: most programs are drawn near
one of the pool, so that all their functions are there already.

A program near another is drawn by the choices of that one, some of which are drawn anew: what tensors hold, which
values are called from, flags, hooks, whole actions. Nobody has to say which choices make a function a new one: where
one came out, the program is dropped before it runs, another is drawn, and what was another choice is changed less often
from then on. So a test wanders among the programs of its functions; now and then one drawn freely brings in others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar, Union

T = TypeVar("T")
V = TypeVar("V", int, bytes, bool)

CHANGES = (0,) * 30 + (1, 2)
"""A part is kept, left out, or drawn anew."""

ANEW = (0, 1, 1, 1, 1, 2, 2, 3)
"""How many of its choices a program draws anew beside tensors: one or another of these."""
TENSORS = (0.3, 1.0)
"""How many of its tensors, at most."""

CALM, PATIENCE = 3, 12
"""How many programs near some are dropped in a row before only tensors are drawn anew, and before no more are drawn."""

KEPT = 8
"""How many programs with the functions of one that was drawn freely are drawn near."""

IDLE = 0.25
"""What part of them they are there for where that program does not do what its test is about."""

BEGINNING = (0.25, 0.5)
"""What part of the usual number of programs the functions of the first programs are there for."""


@dataclass(slots=True)
class Place:
    """A choice in all programs near one another."""

    fits: float = 0.0
    """How many programs ran in which it was another than before."""
    misfits: float = 0.0
    """How many were dropped, each divided among all its choices that were other ones."""

    @property
    def ease(self) -> float:
        """How likely a program is to run in which it is another, as far as is known."""
        return (self.fits + 1) / (self.fits + 3 * self.misfits + 2)


@dataclass(slots=True, eq=False)
class Choice:
    """A number, some bytes or a side of a coin."""

    value: int | bytes | bool
    place: Place


Part = list[Union[Choice, "Part"]]
"""Choices in their order; those of a part that can be left out are a list among them."""


@dataclass
class Family:
    """Programs near one that was drawn freely."""

    programs: list[Part]
    """The choices of those that new ones are drawn near, that one first."""
    owed: float
    """How many programs more its functions are there for."""
    dropped: int = 0
    """How many programs in a row were dropped."""


class Drawing:
    """The choices of a program that is being drawn: those of an earlier one, but for some that are drawn anew."""

    def __init__(self, random: Random, family: Family | None = None) -> None:
        self.choices: Part = []
        """All choices so far."""
        self.family = family
        """The programs that it is drawn near; none where every choice is drawn anew."""
        self._random = random
        self._part, self._at = self.choices, 0
        self._old: Part = random.choice(family.programs) if family else []
        self._tensors = random.choice(TENSORS)
        self.anew = [] if family and family.dropped >= CALM else _some(self._old, random)
        """The choices that are to become others."""

    def below(self, n: int) -> int:
        """A number from 0 to n - 1."""
        old = self._next()
        number = old.value if old and type(old.value) is int and old.value < n else None
        if number is None:
            number = self._random.randrange(n)
        elif n > 1 and old in self.anew:
            number = (number + 1 + self._random.randrange(n - 1)) % n
        return self._taken(number, old)

    def coin(self) -> bool:
        """True, half of the time."""
        old = self._next()
        side = old.value if old and isinstance(old.value, bool) else self._random.random() < 0.5
        return self._taken(side != (old in self.anew), old)

    def raw(self, size: int) -> bytes:
        """So many bytes."""
        old = self._next()
        data = old.value if old and isinstance(old.value, bytes) and len(old.value) == size else None
        if data is None or self._random.random() < self._tensors:
            data = self._random.randbytes(size)
        return self._taken(data, old)

    def _next(self) -> Choice | None:
        """The earlier program's choice in this place; none where it has a part here, or ended."""
        old = self._old[self._at] if self._at < len(self._old) else None
        if isinstance(old, Choice):
            self._at += 1
            return old
        return None

    def _taken(self, value: V, old: Choice | None) -> V:
        self._part.append(Choice(value, old.place if old else Place()))
        return value

    def part(self, act: Callable[[], T]) -> T:
        """What a function makes whose choices can be left out together: those of the earlier program's next part, or,
        now and then, of the one behind it, or of none.
        """
        outer, old, at = self._part, self._old, self._at
        near: Part = []
        found = [(k, part) for k, part in enumerate(old[at:], at) if isinstance(part, list)]
        if found:
            change = self._random.choice(CHANGES) if len(self.anew) > 1 else 0
            taken, part = found[min(change % 2, len(found) - 1)]  # one is left out
            near, at = ([], at) if change == 2 else (part, taken + 1)  # one is put in
        self._part, self._old, self._at = [], near, 0
        outer.append(self._part)
        try:
            return act()
        finally:
            self._part, self._old, self._at = outer, old, at


def _some(part: Part, random: Random) -> list[Choice]:
    """Some choices of a program, with which a program is likely to run when they are others."""
    numbers = list(_numbers(part))
    eases = [each.place.ease for each in numbers]
    count = min(random.choice(ANEW), math.ceil(sum(eases)))
    return random.choices(numbers, eases, k=count) if count else []


def _numbers(part: Part) -> Iterator[Choice]:
    for each in part:
        if isinstance(each, list):
            yield from _numbers(each)
        elif not isinstance(each.value, bytes):
            yield each


@dataclass
class Pool:
    """The functions that ran, and the choices by which programs of them were drawn."""

    programs_each: int
    """How many programs a new function is there for, about."""
    functions: set[Hashable] = field(default_factory=set)
    """The functions that ran."""
    dropped: int = 0
    """How many programs were drawn that needed others."""
    families: int = 0
    """How many programs were drawn freely."""
    _owing: list[Family] = field(default_factory=list)
    _drawing: Drawing | None = None
    _ran: Family | None = None
    _serves: bool = False

    def draw(self, random: Random) -> Drawing:
        """The choices of the next program: free ones where every function was used as often as it is there for."""
        self._drawing = Drawing(random, random.choice(self._owing) if self._owing else None)
        return self._drawing

    def forget(self) -> None:
        """The program that was drawn last is done with; the next one may be drawn by somebody else."""
        self._drawing = None

    def admits(self, functions: Callable[[], Collection[Hashable]]) -> bool:
        """Whether the program that was drawn last is to run, given what says its functions. One that is shrunk, run
        again, or not drawn at all, always is.
        """
        drawing, self._drawing = self._drawing, None
        self._ran = None
        if drawing is None:
            return True
        new = set(functions()) - self.functions
        if drawing.family is None:
            self.functions |= new
            self._found(drawing, len(new))
            return True
        for choice in drawing.anew:
            if new:
                choice.place.misfits += 1 / len(drawing.anew)
            else:
                choice.place.fits += 1
        self._count(drawing.family, drawing, not new)
        return not new

    def judged(self, serves: bool) -> None:
        """The program that was admitted last ran, and did what its test is about, or not: others are drawn near those
        that did, once one has.
        """
        self._serves |= serves
        family, self._ran = self._ran, None
        if serves or family is None or not self._serves:
            return
        if len(family.programs) == 1:
            family.owed *= IDLE
        else:
            del family.programs[-1]

    def _found(self, drawing: Drawing, functions: int) -> None:
        """A program was drawn freely."""
        part = BEGINNING[self.families] if self.families < len(BEGINNING) else 1.0
        self.families += 1
        if functions:
            self._ran = Family([drawing.choices], self.programs_each * functions * part)
            self._owing.append(self._ran)

    def _count(self, family: Family, drawing: Drawing, runs: bool) -> None:
        """A program was drawn near a family, and runs or not."""
        if runs:
            self._ran = family
            family.owed -= 1
            family.dropped = 0
            family.programs.append(drawing.choices)
            if len(family.programs) > KEPT:
                del family.programs[1]
        else:
            self.dropped += 1
            family.dropped += 1
        if family.owed <= 0 or family.dropped >= PATIENCE:
            self._owing.remove(family)


_in_use: ContextVar[Pool | None] = ContextVar("pool", default=None)


def current() -> Pool | None:
    """The pool that programs are drawn near, if there is one."""
    return _in_use.get()


@contextmanager
def using(pool: Pool | None) -> Iterator[None]:
    """Draw programs near those of a pool inside a `with` block."""
    token = _in_use.set(pool)
    try:
        yield
    finally:
        _in_use.reset(token)
