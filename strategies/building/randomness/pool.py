"""Draws programs that reuse the compiled regions (instructions that run as one compiled function) of earlier programs,
for frameworks where compiling takes far longer than running.

Most programs repeat the choices of an earlier program and change some of them: values of tensors, roots of calls,
flags, hooks, whole actions. If a change makes a region that was not compiled before, the program is dropped before it
runs and another one is drawn. The choices that were changed in it are changed less often from then on, so no table has
to say which choices affect regions. Now and then a program is drawn without an earlier one, which adds new regions.
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

PART_CHANGES = (0,) * 30 + (1, 2)
"""Changes to a part (choices that belong together, such as those of one action), drawn evenly: 0 repeats the earlier
program's next part, 1 leaves a part out, 2 inserts a new one.
"""

CHANGED_CHOICES = (0, 1, 1, 1, 1, 2, 2, 3)
"""Numbers of an earlier program's choices that the next program changes besides tensors' values, drawn evenly."""
CHANGED_TENSORS = (0.3, 1.0)
"""Probabilities that a tensor of an earlier program gets new values; one of them is drawn for each program."""

TENSORS_ONLY_AFTER, STOP_AFTER = 3, 12
"""Numbers of programs of a family (a program and those that repeat its choices) dropped in a row: after the first
number only tensors change, after the second the family ends.
"""

KEPT_PROGRAMS = 8
"""Largest number of programs that a family (a program and those that repeat its choices) keeps for later ones to
repeat.
"""

IRRELEVANT_SHARE = 0.25
"""Factor on the number of programs that are to repeat a new program's choices, if the new program does not exercise the
rule of its test although another program did.
"""

FIRST_SHARES = (0.25, 0.5)
"""Factors on the numbers of programs that repeat the choices of the first and of the second program that is drawn
without an earlier one.
"""


@dataclass(slots=True)
class Position:
    """A choice that a program and those that repeat it make, and how often programs ran after the choice was
    changed.
    """

    accepted: float = 0.0
    """Number of programs that ran with this choice changed."""
    rejected: float = 0.0
    """Number of dropped programs with this choice changed, each divided by the program's number of changed choices."""

    @property
    def acceptance(self) -> float:
        """Estimated probability that a program runs if this choice is changed."""
        return (self.accepted + 1) / (self.accepted + 3 * self.rejected + 2)


@dataclass(slots=True, eq=False)
class Choice:
    """The value drawn at a position: a number, bytes or a boolean."""

    value: int | bytes | bool
    position: Position


Part = list[Union[Choice, "Part"]]
"""Choices in order. A nested list holds the choices of a part that can be left out as a whole."""


@dataclass
class Family:
    """A program drawn without an earlier one, and the programs that repeat its choices."""

    programs: list[Part]
    """Choices of the programs that later ones may repeat; those of the first program come first."""
    remaining: float
    """Number of programs that are still to run with choices repeated from this family; dropped ones do not count."""
    dropped: int = 0
    """Number of the family's programs that were dropped in a row, because they needed regions not compiled before."""


class Drawing:
    """The choices of the program that is being drawn, most of them repeated from an earlier program."""

    def __init__(self, random: Random, family: Family | None = None) -> None:
        self.choices: Part = []
        """All choices so far."""
        self.family = family
        """The family (a program and those that repeat its choices) whose choices are repeated; None if every choice is
        new.
        """
        self._random = random
        self._part, self._at = self.choices, 0
        self._old: Part = random.choice(family.programs) if family else []
        self._tensors = random.choice(CHANGED_TENSORS)
        self.changed = [] if family and family.dropped >= TENSORS_ONLY_AFTER else _some(self._old, random)
        """The earlier program's numbers and booleans that get other values; tensors' bytes are changed independently of
        this list.
        """

    def below(self, n: int) -> int:
        """Returns a number from 0 to n - 1: the one that the earlier program drew at this point, another one if that
        choice is to be changed, or a random one if there is none to repeat.
        """
        old = self._next()
        number = old.value if old and type(old.value) is int and old.value < n else None
        if number is None:
            number = self._random.randrange(n)
        elif n > 1 and old in self.changed:
            number = (number + 1 + self._random.randrange(n - 1)) % n
        return self._keep(number, old)

    def coin(self) -> bool:
        """Returns a boolean: the one that the earlier program drew at this point, its opposite if that choice is to be
        changed, or a random one if there is none to repeat.
        """
        old = self._next()
        side = old.value if old and isinstance(old.value, bool) else self._random.random() < 0.5
        return self._keep(side != (old in self.changed), old)

    def raw(self, size: int) -> bytes:
        """Returns `size` bytes: those that the earlier program drew at this point, or random ones if the tensor is to
        get new values or there are none to repeat.
        """
        old = self._next()
        data = old.value if old and isinstance(old.value, bytes) and len(old.value) == size else None
        if data is None or self._random.random() < self._tensors:
            data = self._random.randbytes(size)
        return self._keep(data, old)

    def _next(self) -> Choice | None:
        """Returns the earlier program's choice at this position; None if it has a part (a nested list of choices) here,
        or has ended.
        """
        old = self._old[self._at] if self._at < len(self._old) else None
        if isinstance(old, Choice):
            self._at += 1
            return old
        return None

    def _keep(self, value: V, old: Choice | None) -> V:
        self._part.append(Choice(value, old.position if old else Position()))
        return value

    def part(self, act: Callable[[], T]) -> T:
        """Calls a function whose choices form a part, and returns its result. The part mostly repeats the earlier
        program's next part. Rarely it repeats the part after that one, or is new.
        """
        outer, old, at = self._part, self._old, self._at
        repeated: Part = []
        found = [(k, part) for k, part in enumerate(old[at:], at) if isinstance(part, list)]
        if found:
            change = self._random.choice(PART_CHANGES) if len(self.changed) > 1 else 0
            taken, part = found[min(change % 2, len(found) - 1)]  # one is left out
            repeated, at = ([], at) if change == 2 else (part, taken + 1)  # one is inserted
        self._part, self._old, self._at = [], repeated, 0
        outer.append(self._part)
        try:
            return act()
        finally:
            self._part, self._old, self._at = outer, old, at


def _some(part: Part, random: Random) -> list[Choice]:
    """Draws choices of a program to change, preferably ones after whose change a program is likely to run."""
    numbers = list(_numbers(part))
    acceptances = [each.position.acceptance for each in numbers]
    count = min(random.choice(CHANGED_CHOICES), math.ceil(sum(acceptances)))
    return random.choices(numbers, acceptances, k=count) if count else []


def _numbers(part: Part) -> Iterator[Choice]:
    for each in part:
        if isinstance(each, list):
            yield from _numbers(each)
        elif not isinstance(each.value, bytes):
            yield each


@dataclass
class Pool:
    """The compiled regions (instructions that run as one function) that ran, and the choices of the programs that they
    came from.
    """

    programs_per_region: int
    """Approximate number of programs to draw for each new compiled region (instructions that run as one function)."""
    regions: set[Hashable] = field(default_factory=set)
    """The compiled regions (instructions that run as one function) that ran."""
    dropped: int = 0
    """Number of programs that were dropped before they ran, because they needed regions not compiled before."""
    families: int = 0
    """Number of programs drawn without an earlier one."""
    _unfinished: list[Family] = field(default_factory=list)
    _drawing: Drawing | None = None
    _ran: Family | None = None
    _any_relevant: bool = False

    def draw(self, random: Random) -> Drawing:
        """Starts the next program. It repeats no earlier one if every family (a program and those that repeat its
        choices) has drawn its number of programs.
        """
        self._drawing = Drawing(random, random.choice(self._unfinished) if self._unfinished else None)
        return self._drawing

    def forget(self) -> None:
        """Forgets the newest program, so that a program drawn without the pool is not mistaken for it."""
        self._drawing = None

    def accept(self, regions: Callable[[], Collection[Hashable]]) -> bool:
        """Decides whether the newest program runs, and records the decision: a program that repeats an earlier one runs
        only if all its regions ran before; every other program runs.

        `regions` computes the program's compiled regions. A program that was not drawn with the pool, as when
        Hypothesis shrinks or replays one, always runs.
        """
        drawing, self._drawing = self._drawing, None
        self._ran = None
        if drawing is None:
            return True
        new = set(regions()) - self.regions
        if drawing.family is None:
            self.regions |= new
            self._start_family(drawing, len(new))
            return True
        for choice in drawing.changed:
            if new:
                choice.position.rejected += 1 / len(drawing.changed)
            else:
                choice.position.accepted += 1
        self._record(drawing.family, drawing, not new)
        return not new

    def record_relevance(self, relevant: bool) -> None:
        """Records whether the program that was accepted last exercised the rule of its test. As soon as one program
        did, later programs repeat only programs that did.
        """
        self._any_relevant |= relevant
        family, self._ran = self._ran, None
        if relevant or family is None or not self._any_relevant:
            return
        if len(family.programs) == 1:
            family.remaining *= IRRELEVANT_SHARE
        else:
            del family.programs[-1]

    def _start_family(self, drawing: Drawing, regions: int) -> None:
        """Starts a family (a program and those that repeat its choices) with a program that repeats no earlier one and
        has so many new regions.
        """
        share = FIRST_SHARES[self.families] if self.families < len(FIRST_SHARES) else 1.0
        self.families += 1
        if regions:
            self._ran = Family([drawing.choices], self.programs_per_region * regions * share)
            self._unfinished.append(self._ran)

    def _record(self, family: Family, drawing: Drawing, runs: bool) -> None:
        """Records that a program of a family runs or is dropped; ends the family if it has drawn its number of
        programs, or too many in a row were dropped.
        """
        if runs:
            self._ran = family
            family.remaining -= 1
            family.dropped = 0
            family.programs.append(drawing.choices)
            if len(family.programs) > KEPT_PROGRAMS:
                del family.programs[1]
        else:
            self.dropped += 1
            family.dropped += 1
        if family.remaining <= 0 or family.dropped >= STOP_AFTER:
            self._unfinished.remove(family)


_in_use: ContextVar[Pool | None] = ContextVar("pool", default=None)


def current() -> Pool | None:
    """Returns the pool of compiled regions in use, or None if there is none."""
    return _in_use.get()


@contextmanager
def using(pool: Pool | None) -> Iterator[None]:
    """Draws programs with a pool of compiled regions inside a `with` block."""
    token = _in_use.set(pool)
    try:
        yield
    finally:
        _in_use.reset(token)
