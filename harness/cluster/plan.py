"""Plans: what a campaign is to run, as a TOML file says it, held to its keys and types.

A plan is a product: each framework with each suite, dtype and device is a series of shards, one for each seed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from pathlib import Path
from typing import Any

from autograd_conformance.frameworks.registry import FRAMEWORKS
from autograd_conformance.harness.cluster.shard import ALL, Series, Texts
from autograd_conformance.harness.places import SUITES
from autograd_conformance.programs.language import DTYPES
from autograd_conformance.reports.prose import listed

SHARD = 20_000
"""Programs in a shard, where the plan does not say it."""


class MalformedPlan(Exception):
    """A plan that cannot be carried out; the message says where and why."""


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
    """No shard begins when the command has been running so long."""


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


def read(path: Path) -> Plan:
    """The plan in a file; `MalformedPlan` says what is wrong in it."""
    try:
        form = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise MalformedPlan(f"{path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise MalformedPlan(f"{path}: not TOML: {error}") from None
    return plan(form, path)


def plan(form: Mapping[str, Any], path: Path) -> Plan:
    """The plan that a TOML file holds; `path` is where it stands, and files that it names beside it."""
    top = _Table(form, str(path), TOP)
    shard = top.number("shard", SHARD)
    works = top.tables("work")
    if not works:
        raise MalformedPlan(f"{path}: there is no [[work]], which says what is run")
    series: list[Series] = []
    for place, work in enumerate(works, 1):
        series += _series(_Table(work, f"{path}, [[work]] {place}", WORK), shard, path.parent)
    names = [each.name for each in series]
    twice = next((each.title for each in series if names.count(each.name) > 1), None)
    if twice is not None:
        raise MalformedPlan(f"{path}: {twice} is there twice")
    for one, other in combinations(series, 2):
        if one.shares(other):
            raise MalformedPlan(f"{path}: {one.title} and {other.title} would draw the same programs, which count once")
    return Plan(tuple(series), _amount(top), top.text("storage"), dict(top.table("storage_options")))


def _amount(top: _Table) -> Amount:
    there = [name for name in ("seeds", "programs", "hours") if name in top.form]
    if len(there) != 1:
        said = f"{listed(there, by=' and ')} cannot stand together" if there else "nothing says how much is to be run"
        raise MalformedPlan(f"{top.where}: {said}: name one of seeds, programs, hours")
    if "seeds" in there and "first_seed" in top.form:
        raise MalformedPlan(f"{top.where}: first_seed: seeds say already where to begin")
    first = top.number("first_seed", 1, least=0)
    match there[0]:
        case "programs":
            return Amount(first, programs=top.number("programs", 0))
        case "hours":
            return Amount(first, hours=top.positive("hours"))
        case _:
            return Amount(*_seeds(top))


def _seeds(top: _Table) -> tuple[int, int]:
    match top.form["seeds"]:
        case [int(first), int(last)] if 0 <= first <= last and bool not in map(type, (first, last)):
            return first, last
        case other:
            raise MalformedPlan(f"{top.where}: seeds has to be [FIRST, LAST], such as [1, 100], not {other!r}")


def _series(work: _Table, programs: int, folder: Path) -> Iterator[Series]:
    frameworks = work.texts("frameworks", None)
    for name in frameworks:
        if name not in FRAMEWORKS and ":" not in name:
            there = ", ".join(FRAMEWORKS)
            raise MalformedPlan(
                f"{work.where}: frameworks: unknown framework {name!r}. There are: {there}. Your own adapter is named "
                "package.module:factory."
            )
    dtypes = work.texts("dtypes", ("both",))
    for dtype in dtypes:
        if dtype not in (*DTYPES, "both"):
            raise MalformedPlan(f"{work.where}: dtypes: {dtype!r} is none of {listed((*DTYPES, 'both'))}")
    suites = [_suite(name, work.where) for name in work.texts("suites", (ALL,))]
    known, included = _known([folder / name for name in work.texts("known", ())], work.where)
    resources = _resources(work)
    patience = work.positive("patience") if "patience" in work.form else None
    for framework, suite, dtype, device in product(frameworks, suites, dtypes, work.texts("devices", ("cpu",))):
        yield Series(
            framework, suite, dtype, device, programs, work.text("python"), known, included,
            work.number("confirm", 0, least=0), patience, resources,
        )  # fmt: skip


def _suite(name: str, where: str) -> tuple[str, ...]:
    """The words of a command line for a suite: its name, one of its tests, or all suites."""
    if name == ALL:
        return ()
    file, colons, test = name.partition("::")
    file = Path(file).name.removeprefix("test_").removesuffix(".py")
    if not (SUITES / f"test_{file}.py").exists():
        there = listed(sorted(path.stem.removeprefix("test_") for path in SUITES.glob("test_*.py")))
        raise MalformedPlan(f"{where}: suites: there is no suite {name!r}. There are: {ALL}, {there}")
    return (f"suites/test_{file}.py{colons}{test}",)


def _known(paths: Sequence[Path], where: str) -> tuple[Texts, Texts]:
    """Files of known differences, which go to workers as they are, and those that they include."""
    if not paths:
        return (), ()
    from autograd_conformance.harness.known import MalformedExpectations, own_files, read  # here: they bring JAX along

    try:
        entries = [entry for path in paths for entry in read(path)]
        files = {file.resolve(): file for path in paths for file in own_files(path)}
    except MalformedExpectations as error:
        raise MalformedPlan(f"{where}: known: {error}") from None
    places = {*files, *(Path(entry.where).resolve() for entry in entries)}  # also those that come with the suite
    if len({place.name for place in places}) < len(places):
        raise MalformedPlan(f"{where}: known: two files have one name")
    texts = {place: (file.name, file.read_text(encoding="utf-8")) for place, file in files.items()}
    named = [path.resolve() for path in paths]
    return tuple(texts.pop(place) for place in dict.fromkeys(named)), tuple(texts.values())


def _resources(work: _Table) -> dict[str, float]:
    found = work.table("resources")
    for name, value in found.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= 0:
            raise MalformedPlan(f"{work.where}: resources: {name} has to be a number above 0, not {value!r}")
    return {name: float(value) for name, value in found.items()}


class _Table:
    """A table of the plan, whose values are asked for by the types that they have to have."""

    def __init__(self, form: Mapping[str, Any], where: str, keys: tuple[str, ...]) -> None:
        self.form, self.where = form, where
        unknown = next((key for key in form if key not in keys), None)
        if unknown is not None:
            raise MalformedPlan(f"{where}: unknown key {unknown!r}; there are {listed(keys)}")

    def _wrong(self, key: str, what: str) -> MalformedPlan:
        return MalformedPlan(f"{self.where}: {key} has to be {what}, not {self.form.get(key)!r}")

    def number(self, key: str, otherwise: int, least: int = 1) -> int:
        """A whole number."""
        value = self.form.get(key, otherwise)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self._wrong(key, f"a whole number of at least {least}")
        return value

    def positive(self, key: str) -> float:
        """A number above 0."""
        value = self.form.get(key)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
            raise self._wrong(key, "a number above 0")
        return float(value)

    def text(self, key: str) -> str | None:
        """A text, if it is there."""
        value = self.form.get(key)
        if value is not None and (not isinstance(value, str) or not value):
            raise self._wrong(key, "a text")
        return value

    def texts(self, key: str, otherwise: tuple[str, ...] | None) -> tuple[str, ...]:
        """A list of texts, each once."""
        value = self.form.get(key, otherwise)
        if value is None:
            raise MalformedPlan(f"{self.where}: {key} is missing")
        if not isinstance(value, (list, tuple)) or not all(isinstance(each, str) and each for each in value):
            raise self._wrong(key, "a list of texts")
        if not value and key in self.form:
            raise self._wrong(key, "a list of at least one text")
        return tuple(dict.fromkeys(value))

    def table(self, key: str) -> Mapping[str, Any]:
        """A table, empty where there is none."""
        value = self.form.get(key, {})
        if not isinstance(value, dict):
            raise self._wrong(key, "a table")
        return value

    def tables(self, key: str) -> list[Mapping[str, Any]]:
        """A list of tables."""
        value = self.form.get(key, [])
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise MalformedPlan(f"{self.where}: {key} has to be written [[{key}]]")
        return value
