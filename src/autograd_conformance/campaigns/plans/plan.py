"""Reads plans of campaigns from a TOML file, and checks for unknown keys and wrong types.

A plan is a product: each combination of framework, suite, dtype and device is a series of shards, one for each seed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path
from typing import Any

from autograd_conformance.campaigns.plans.known_files import known_texts
from autograd_conformance.campaigns.plans.table import MalformedPlan, Table
from autograd_conformance.campaigns.shards.shard import ALL, Series
from autograd_conformance.package.places import SUITES
from autograd_conformance.programs.dtypes import BOTH, dtypes_in
from autograd_conformance.reporting.prose import listed

SHARD = 20_000
"""Default number of programs in a shard (a run with one seed)."""


@dataclass(frozen=True, slots=True)
class Amount:
    """Says when a campaign stops: after a last seed or a number of programs in each series, or after a number of hours
    for all series together.
    """

    first: int = 1
    """The seed of the first shard."""
    last: int | None = None
    """The seed of the last shard of each series; None if another limit applies."""
    programs: int | None = None
    """Number of programs to judge in each series; None if another limit applies."""
    hours: float | None = None
    """Time limit of one command for all series together, in hours; None if another limit applies."""

    @property
    def shards(self) -> int | None:
        """Number of shards of each series, if the amount is given in seeds."""
        return None if self.last is None else self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class Plan:
    """The series of a campaign, the amount of runs, and the storage of their records."""

    series: tuple[Series, ...]
    amount: Amount
    storage: str | None = None
    """The folder in which records are stored, as a path or a URL that fsspec accepts; None if the plan names none."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the storage for fsspec, such as an endpoint or a profile. Secrets belong in the environment."""


TOP = ("storage", "storage_options", "shard", "programs", "hours", "seeds", "first_seed", "work")
WORK = ("frameworks", "suites", "dtypes", "devices", "python", "known", "confirm", "patience", "resources")


def plan(form: Mapping[str, Any], path: Path) -> Plan:
    """Returns the plan in the parsed TOML file `path`. Paths in the plan are relative to that file. Raises
    `MalformedPlan`.
    """
    top = Table(form, str(path), TOP)
    shard = top.number("shard", SHARD)
    tables = top.tables("work")
    if not tables:
        raise MalformedPlan(f"{path}: it has no [[work]], which names the frameworks and suites to run")
    series: list[Series] = []
    for place, work in enumerate(tables, 1):
        series += _series(Table(work, f"{path}, [[work]] {place}", WORK), shard, path.parent)
    names = [each.name for each in series]
    twice = next((each.title for each in series if names.count(each.name) > 1), None)
    if twice is not None:
        raise MalformedPlan(f"{path}: {twice} is listed twice")
    for one, other in combinations(series, 2):
        if one.overlaps(other):
            raise MalformedPlan(f"{path}: {one.title} and {other.title} would draw the same programs")
    return Plan(tuple(series), _amount(top), top.text("storage"), dict(top.table("storage_options")))


def _amount(top: Table) -> Amount:
    present = [name for name in ("seeds", "programs", "hours") if name in top.form]
    if len(present) != 1:
        reason = f"{listed(present, by=' and ')} exclude each other" if present else "the amount of runs is missing"
        raise MalformedPlan(f"{top.where}: {reason}: name one of seeds, programs, hours")
    if "seeds" in present and "first_seed" in top.form:
        raise MalformedPlan(f"{top.where}: first_seed: seeds already names the first seed")
    first = top.number("first_seed", 1, least=0)
    match present[0]:
        case "programs":
            return Amount(first, programs=top.number("programs", 0))
        case "hours":
            return Amount(first, hours=top.positive("hours"))
        case _:
            return Amount(*_seeds(top))


def _seeds(top: Table) -> tuple[int, int]:
    match top.form["seeds"]:
        case [int(first), int(last)] if 0 <= first <= last and bool not in map(type, (first, last)):
            return first, last
        case other:
            raise MalformedPlan(f"{top.where}: seeds must be [FIRST, LAST], such as [1, 100], not {other!r}")


def _series(work: Table, programs: int, folder: Path) -> Iterator[Series]:
    frameworks = [work.framework(name) for name in work.texts("frameworks", None)]
    dtypes = work.texts("dtypes", (BOTH,))
    for dtype in dtypes:
        try:
            dtypes_in(dtype)
        except ValueError as error:
            raise MalformedPlan(f"{work.where}: dtypes: {error}") from None
    suites = [_suite(name, work.where) for name in work.texts("suites", (ALL,))]
    known, included = known_texts([folder / name for name in work.texts("known", ())], work.where)
    resources = work.resources()
    timeout = work.positive("patience") if "patience" in work.form else None
    for framework, suite, dtype, device in product(frameworks, suites, dtypes, work.texts("devices", ("cpu",))):
        yield Series(
            framework, suite, dtype, device, programs, work.text("python"), known, included,
            work.number("confirm", 0, least=0), timeout, resources,
        )  # fmt: skip


def _suite(name: str, where: str) -> tuple[str, ...]:
    """Returns the command-line words for a suite: its file, one of its tests, or nothing for all suites."""
    if name == ALL:
        return ()
    file, colons, test = name.partition("::")
    file = Path(file).name.removeprefix("test_").removesuffix(".py")
    if not (SUITES / f"test_{file}.py").exists():
        present = listed(sorted(path.stem.removeprefix("test_") for path in SUITES.glob("test_*.py")))
        raise MalformedPlan(f"{where}: suites: there is no suite {name!r}. There are: {ALL}, {present}")
    return (f"suites/test_{file}.py{colons}{test}",)
