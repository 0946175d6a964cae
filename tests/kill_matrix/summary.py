"""What the results come to: families and kinds with what they killed, the rules that kill nothing, the rivals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any

from autograd_conformance.rules.catalogue import RULES, Level

from tests.kill_matrix.rows import Row


@dataclass(frozen=True, slots=True)
class Round:
    """A rival's lap on PyTorch itself: its cases, their CPU seconds, how many complained about PyTorch, and the ops of
    those that ran one op; `seconds` is what making the lap cost in all.
    """

    rival: str
    what: str
    cases: int
    cost: float
    alarms: int
    ops: list[str]
    seconds: float


@dataclass(frozen=True, slots=True)
class Whole:
    """A run that did everything, from nothing: its seconds, and how many processes it had."""

    seconds: float
    jobs: int


@dataclass(frozen=True)
class Results:
    """Everything that was found out: rows of the matrix, what each rival did with each member, and what it took."""

    rows: tuple[Row, ...]
    finds_by_name: dict[tuple[str, str], dict[str, Any]]
    laps: dict[str, Round]
    whole: Whole | None = None

    @cached_property
    def by_hand(self) -> list[Row]:
        """The rows of members that were made by hand."""
        return [row for row in self.rows if not row.generated]

    @cached_property
    def generated(self) -> list[Row]:
        """The rows of generated members."""
        return [row for row in self.rows if row.generated]


@dataclass(frozen=True, slots=True)
class Group:
    """Members of one family or one kind: how many there are, how many were killed at all, by their own family's tests,
    and there by a rule that has to name them; medians of the programs until the first kill and of the shrunk program's
    size; the CPU seconds of all; how many members of other families this family kills, or of a kind, another family.
    """

    name: str
    members: int
    killed: int
    own: int
    right: int
    programs: float | None
    size: float | None
    seconds: float
    others: int
    shown: int

    @property
    def beyond(self) -> str:
        """How many of those that it was shown."""
        return f"{self.others} of {self.shown}"


def families(rows: Sequence[Row]) -> list[Group]:
    """A group for each family that members are about, or that kills any."""
    names = dict.fromkeys(rule.family for rule in RULES.values())
    tried = {family for row in rows for family, cell in row.cells.items() if cell.programs}
    return [
        _group(name, [r for r in rows if r.own == name], *_elsewhere(name, rows)) for name in names if name in tried
    ]


def _elsewhere(name: str, rows: Sequence[Row]) -> tuple[int, int]:
    shown = [row.cells[name] for row in rows if row.own != name and name in row.cells and row.cells[name].programs]
    return sum(cell.killed for cell in shown), len(shown)


def kinds(rows: Sequence[Row], sort: Callable[[str], int]) -> list[Group]:
    """A group for each kind of generated lie."""
    names = sorted({row.group for row in rows}, key=sort)
    return [_kind(name, [row for row in rows if row.group == name]) for name in names]


def _kind(name: str, rows: Sequence[Row]) -> Group:
    beyond = [cell for row in rows for family, cell in row.cells.items() if family != row.own]
    return _group(name, rows, sum(cell.killed for cell in beyond), len(beyond))


def _group(name: str, rows: Sequence[Row], others: int, shown: int) -> Group:
    mine = [row.mine for row in rows if row.mine.killed]
    return Group(
        name,
        len(rows),
        sum(row.killed for row in rows),
        len(mine),
        sum(row.right for row in rows),
        _median(cell.programs for cell in mine),
        _median(cell.size for cell in mine if cell.size is not None),
        sum(row.mine.seconds for row in rows),
        others,
        shown,
    )


def total(groups: Sequence[Group], rows: Sequence[Row]) -> Group:
    """All groups together."""
    others, shown = (sum(getattr(group, name) for group in groups) for name in ("others", "shown"))
    return _group("all", rows, others, shown)


def _median(values: Iterable[float]) -> float | None:
    known = list(values)
    return median(known) if known else None


@dataclass(frozen=True, slots=True)
class Killer:
    """A rule: of how many members it is named as the one that is broken, and on how many its own tests fail, tried in
    their own families alone.
    """

    rule: str
    named: int
    tests: int


def killers(rows: Sequence[Row]) -> list[Killer]:
    """Every rule that can fail, with what it kills."""
    named = [{cell.rule for cell in row.cells.values() if cell.killed} for row in rows]
    failed = [{slug for cell in row.cells.values() for slug in cell.tests} for row in rows]
    slugs = [slug for slug, rule in RULES.items() if rule.level is not Level.INFO]
    return [Killer(slug, sum(slug in each for each in named), sum(slug in each for each in failed)) for slug in slugs]


@dataclass(frozen=True, slots=True)
class Long:
    """Members whose shrunk programs have more than ten instructions, for one reason."""

    why: str
    members: list[tuple[str, int]]


TEN = 10
"""More instructions than that in a shrunk program need a reason."""


def long(rows: Sequence[Row], why: Callable[[Row], str]) -> list[Long]:
    """The members whose shrunk programs are long, by the reason."""
    found: dict[str, list[tuple[str, int]]] = {}
    for row in rows:
        if row.mine.size is not None and row.mine.size > TEN:
            found.setdefault(why(row), []).append((row.member, row.mine.size))
    return [Long(reason, sorted(members)) for reason, members in found.items()]


@dataclass(frozen=True, slots=True)
class Standing:
    """What a rival came to on one sort of members: how many it was shown, could see in principle, and found; the CPU
    seconds that its cases cost on all that it could see, and for each that it found.
    """

    members: int
    could: int
    found: int
    seconds: float

    @property
    def each(self) -> float | None:
        """CPU seconds for each member that was found."""
        return self.seconds / self.found if self.found else None


@dataclass(frozen=True, slots=True)
class Entrant:
    """A rival with its standings on generated members and on those made by hand."""

    lap: Round
    generated: Standing
    by_hand: Standing
    missed: dict[str, int]


def entrants(results: Results) -> list[Entrant]:
    """Every rival that raced."""
    hand = {row.member for row in results.by_hand}
    group_of = {row.member: row.group for row in results.rows}
    found = []
    for name, made in results.laps.items():
        finds = [find for (rival, _), find in results.finds_by_name.items() if rival == name]
        generated = [find for find in finds if find["member"] not in hand]
        lost = [group_of.get(find["member"], "?") for find in generated if not find["found"]]
        missed = {kind: lost.count(kind) for kind in sorted(set(lost))}
        by_hand = _standing([find for find in finds if find["member"] in hand])
        found.append(Entrant(made, _standing(generated), by_hand, missed))
    return found


def _standing(finds: Sequence[dict[str, Any]]) -> Standing:
    could = [find for find in finds if find["could"]]
    return Standing(
        len(finds), len(could), sum(find["found"] for find in could), sum(find["seconds"] for find in could)
    )
