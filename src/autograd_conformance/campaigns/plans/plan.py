"""Plans: what a campaign is to run, as a TOML file says it, held to its keys and types.

A plan is a product: each framework with each suite, dtype and device is a series of shards, one for each seed.
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
from autograd_conformance.places import SUITES
from autograd_conformance.programs.language import DTYPES
from autograd_conformance.reporting.prose import listed

SHARD = 20_000
"""Programs in a shard, where the plan does not say it."""


@dataclass(frozen=True, slots=True)
class Amount:
    """How much of each series a campaign is to run: up to a last seed, to a number of programs, or for some time."""

    first: int = 1
    """The seed of the first shard."""
    last: int | None = None
    """The seed of the last."""
    programs: int | None = None
    """Until so many programs were judged."""
    hours: float | None = None
    """As long as a command runs."""

    @property
    def shards(self) -> int | None:
        """How many shards of each series that is, where it is said."""
        return None if self.last is None else self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class Plan:
    """What a campaign is to run, and where its records go."""

    series: tuple[Series, ...]
    amount: Amount
    storage: str | None = None
    """A folder, or the URL of one, as fsspec takes it."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """What fsspec is told of the storage: an endpoint, a profile; secrets belong to the environment."""


TOP = ("storage", "storage_options", "shard", "programs", "hours", "seeds", "first_seed", "work")
WORK = ("frameworks", "suites", "dtypes", "devices", "python", "known", "confirm", "patience", "resources")


def plan(form: Mapping[str, Any], path: Path) -> Plan:
    """The plan that a TOML file holds; `path` is where it stands, and files that it names beside it."""
    top = Table(form, str(path), TOP)
    shard = top.number("shard", SHARD)
    tables = top.tables("work")
    if not tables:
        raise MalformedPlan(f"{path}: there is no [[work]], which says what is run")
    series: list[Series] = []
    for place, work in enumerate(tables, 1):
        series += _series(Table(work, f"{path}, [[work]] {place}", WORK), shard, path.parent)
    names = [each.name for each in series]
    twice = next((each.title for each in series if names.count(each.name) > 1), None)
    if twice is not None:
        raise MalformedPlan(f"{path}: {twice} is there twice")
    for one, other in combinations(series, 2):
        if one.overlaps(other):
            raise MalformedPlan(f"{path}: {one.title} and {other.title} would draw the same programs, which count once")
    return Plan(tuple(series), _amount(top), top.text("storage"), dict(top.table("storage_options")))


def _amount(top: Table) -> Amount:
    present = [name for name in ("seeds", "programs", "hours") if name in top.form]
    if len(present) != 1:
        said = (
            f"{listed(present, by=' and ')} cannot stand together" if present else "nothing says how much is to be run"
        )
        raise MalformedPlan(f"{top.where}: {said}: name one of seeds, programs, hours")
    if "seeds" in present and "first_seed" in top.form:
        raise MalformedPlan(f"{top.where}: first_seed: seeds say already where to begin")
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
            raise MalformedPlan(f"{top.where}: seeds has to be [FIRST, LAST], such as [1, 100], not {other!r}")


def _series(work: Table, programs: int, folder: Path) -> Iterator[Series]:
    frameworks = [work.framework(name) for name in work.texts("frameworks", None)]
    dtypes = work.texts("dtypes", ("both",))
    for dtype in dtypes:
        if dtype not in (*DTYPES, "both"):
            raise MalformedPlan(f"{work.where}: dtypes: {dtype!r} is none of {listed((*DTYPES, 'both'))}")
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
    """The words of a command line for a suite: its name, one of its tests, or all suites."""
    if name == ALL:
        return ()
    file, colons, test = name.partition("::")
    file = Path(file).name.removeprefix("test_").removesuffix(".py")
    if not (SUITES / f"test_{file}.py").exists():
        present = listed(sorted(path.stem.removeprefix("test_") for path in SUITES.glob("test_*.py")))
        raise MalformedPlan(f"{where}: suites: there is no suite {name!r}. There are: {ALL}, {present}")
    return (f"suites/test_{file}.py{colons}{test}",)
