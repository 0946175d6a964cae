"""Summaries of the results: kills by family and kind, rules without kills, scores of the baselines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any

from autograd_conformance.rules.catalogue import RULES, Level
from evaluation.kill_matrix.rows import Row


@dataclass(frozen=True, slots=True)
class RoundFigures:
    """Figures of a baseline's round on PyTorch itself."""

    baseline: str
    what: str
    cases: int
    cost: float
    """CPU seconds of the cases."""
    alarms: int
    """Number of cases that complained about PyTorch."""
    ops: list[str]
    """The ops of complaining cases that ran a single op."""
    seconds: float
    """CPU seconds of making the round."""


@dataclass(frozen=True, slots=True)
class Whole:
    """A run that computed all results from scratch: its seconds and its number of processes."""

    seconds: float
    jobs: int


@dataclass(frozen=True)
class Results:
    """All results: the rows of the matrix, the baselines' finds by baseline and mutant, and their rounds."""

    rows: tuple[Row, ...]
    finds_by_name: dict[tuple[str, str], dict[str, Any]]
    rounds: dict[str, RoundFigures]
    whole: Whole | None = None

    @cached_property
    def by_hand(self) -> list[Row]:
        """The rows of handmade mutants."""
        return [row for row in self.rows if not row.generated]

    @cached_property
    def generated(self) -> list[Row]:
        """The rows of generated mutants."""
        return [row for row in self.rows if row.generated]


@dataclass(frozen=True, slots=True)
class Group:
    """The mutants of one family or one kind."""

    name: str
    mutants: int
    killed: int
    own: int
    """Number of mutants that tests of their family killed."""
    right: int
    """Number of mutants that their family killed with an expected rule."""
    programs: float | None
    """Median number of programs until the kill."""
    size: float | None
    """Median number of instructions of the shrunk program."""
    seconds: float
    """CPU seconds of the own family's tests on all mutants."""
    others: int
    """For a family: number of other families' mutants that it kills. For a kind: number of mutants that another family
    kills.
    """
    shown: int
    """Number of mutants that `others` counts from."""

    @property
    def by_others(self) -> str:
        """`others` of `shown`, as text."""
        return f"{self.others} of {self.shown}"


def families(rows: Sequence[Row]) -> list[Group]:
    """A group for each family of which tests ran on mutants."""
    names = dict.fromkeys(rule.family for rule in RULES.values())
    tried = {family for row in rows for family, cell in row.cells.items() if cell.programs}
    return [
        _group(name, [r for r in rows if r.own == name], *_elsewhere(name, rows)) for name in names if name in tried
    ]


def _elsewhere(name: str, rows: Sequence[Row]) -> tuple[int, int]:
    shown = [row.cells[name] for row in rows if row.own != name and name in row.cells and row.cells[name].programs]
    return sum(cell.killed for cell in shown), len(shown)


def kinds(rows: Sequence[Row], sort: Callable[[str], int]) -> list[Group]:
    """A group for each kind of generated fault."""
    names = sorted({row.group for row in rows}, key=sort)
    return [_kind(name, [row for row in rows if row.group == name]) for name in names]


def _kind(name: str, rows: Sequence[Row]) -> Group:
    beyond = [cell for row in rows for family, cell in row.cells.items() if family != row.own]
    return _group(name, rows, sum(cell.killed for cell in beyond), len(beyond))


def _group(name: str, rows: Sequence[Row], others: int, shown: int) -> Group:
    mine = [row.own_cell for row in rows if row.own_cell.killed]
    return Group(
        name,
        len(rows),
        sum(row.killed for row in rows),
        len(mine),
        sum(row.right for row in rows),
        _median(cell.programs for cell in mine),
        _median(cell.size for cell in mine if cell.size is not None),
        sum(row.own_cell.seconds for row in rows),
        others,
        shown,
    )


def total(groups: Sequence[Group], rows: Sequence[Row]) -> Group:
    """The total of all groups."""
    others, shown = (sum(getattr(group, name) for group in groups) for name in ("others", "shown"))
    return _group("all", rows, others, shown)


def _median(values: Iterable[float]) -> float | None:
    known = list(values)
    return median(known) if known else None


@dataclass(frozen=True, slots=True)
class RuleKills:
    """A rule, the number of mutants for which it is reported, and the number of mutants of its family on which the
    rule's own tests fail.
    """

    rule: str
    named: int
    tests: int


def rule_kills(rows: Sequence[Row]) -> list[RuleKills]:
    """All rules that can fail, with their kills."""
    named = [{cell.rule for cell in row.cells.values() if cell.killed} for row in rows]
    failed = [{slug for cell in row.cells.values() for slug in cell.tests} for row in rows]
    slugs = [slug for slug, rule in RULES.items() if rule.level is not Level.INFO]
    return [
        RuleKills(slug, sum(slug in each for each in named), sum(slug in each for each in failed)) for slug in slugs
    ]


@dataclass(frozen=True, slots=True)
class Long:
    """Mutants whose shrunk programs have more than ten instructions for the same reason."""

    why: str
    mutants: list[tuple[str, int]]


TEN = 10
"""Largest number of instructions of a shrunk program without a reason."""


def long(rows: Sequence[Row], why: Callable[[Row], str]) -> list[Long]:
    """The mutants whose shrunk programs have more than ten instructions, by reason."""
    found: dict[str, list[tuple[str, int]]] = {}
    for row in rows:
        if row.own_cell.size is not None and row.own_cell.size > TEN:
            found.setdefault(why(row), []).append((row.mutant, row.own_cell.size))
    return [Long(reason, sorted(mutants)) for reason, mutants in found.items()]


@dataclass(frozen=True, slots=True)
class Score:
    """The score of a baseline on generated or on handmade mutants."""

    mutants: int
    """Number of mutants that it ran on."""
    could: int
    """Number of mutants that it could detect in principle."""
    found: int
    seconds: float
    """CPU seconds of its cases on the mutants that it could detect."""

    @property
    def each(self) -> float | None:
        """CPU seconds per mutant found."""
        return self.seconds / self.found if self.found else None


@dataclass(frozen=True, slots=True)
class BaselineScore:
    """A baseline with its scores on generated and on handmade mutants."""

    round: RoundFigures
    generated: Score
    by_hand: Score
    missed: dict[str, int]


def scores(results: Results) -> list[BaselineScore]:
    """The scores of all baselines that ran."""
    hand = {row.mutant for row in results.by_hand}
    group_of = {row.mutant: row.group for row in results.rows}
    found = []
    for name, made in results.rounds.items():
        finds = [find for (baseline, _), find in results.finds_by_name.items() if baseline == name]
        generated = [find for find in finds if find["mutant"] not in hand]
        lost = [group_of.get(find["mutant"], "?") for find in generated if not find["found"]]
        missed = {kind: lost.count(kind) for kind in sorted(set(lost))}
        by_hand = _score([find for find in finds if find["mutant"] in hand])
        found.append(BaselineScore(made, _score(generated), by_hand, missed))
    return found


def _score(finds: Sequence[dict[str, Any]]) -> Score:
    could = [find for find in finds if find["could"]]
    return Score(len(finds), len(could), sum(find["found"] for find in could), sum(find["seconds"] for find in could))
