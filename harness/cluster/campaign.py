"""A campaign: which shards are run next, and what all of them came to; what is kept already is not run again.

It holds no more than sums. Whoever runs it again, on whichever cluster, finds the same sums in what is kept.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

from autograd_conformance.harness.cluster.engine import Ended, Engine
from autograd_conformance.harness.cluster.plan import Plan
from autograd_conformance.harness.cluster.row import TRIES, Row
from autograd_conformance.harness.cluster.shard import SHARDS, Series, Shard, seed_of
from autograd_conformance.harness.cluster.sharing import Sharing
from autograd_conformance.harness.cluster.storage import Storage, StorageError
from autograd_conformance.harness.cluster.work import Again, Done, NotDone, replay, run, unpacked
from autograd_conformance.reports.causes import Cause
from autograd_conformance.reports.failure import Failure
from autograd_conformance.reports.findings import SHAPES, digest, likeness
from autograd_conformance.reports.kinds import Kind, Unlike, kind
from autograd_conformance.reports.merge import Merged
from autograd_conformance.reports.records import Header, Report
from autograd_conformance.reports.stream import InvalidReport, parse

AHEAD = 2
"""How many shards are with the scheduler for each that can run: a worker that ends one finds the next."""

AT_ONCE = 64
"""How many shards' records are read at once."""

CONFIRMED = "confirmed"
"""The folder of the storage that says what came of failures that were run again alone."""


@dataclass(frozen=True, slots=True)
class Found:
    """A cause of failures that no shard had shown before."""

    cause: Cause
    header: Header


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A failure was run again alone."""

    failure: Failure
    again: Again


@dataclass(frozen=True, slots=True)
class Trouble:
    """A shard, or all that are left of a series, could not be had."""

    said: str


Event = Found | Confirmed | Trouble


@dataclass(frozen=True, slots=True)
class Confirm:
    """A task: a failure of a series is to be run again alone."""

    series: Series
    failure: Failure

    @property
    def name(self) -> str:
        """Where it is kept what came of it."""
        return f"{CONFIRMED}/{self.series.name}/{digest(self.failure)}.json"


class Campaign:
    """What a plan comes to, as shards end."""

    def __init__(self, plan: Plan, storage: Storage, suite: str) -> None:
        self.plan, self.storage, self.suite = plan, storage, suite
        self.rows = [Row(series) for series in plan.series]
        self.sums: dict[Kind, Merged] = {}
        """What is alike in adapter, environment, framework, version, device and dtypes, added up."""
        self._again: dict[str, Again] = {}
        """What came of failures that were run again alone, by where that is kept."""
        self.deadline = math.inf if plan.amount.hours is None else time.monotonic() + plan.amount.hours * 3600
        self._causes: dict[Kind, int] = {}
        self._told: set[tuple[Kind, str]] = set()
        """What failures that are no news are alike to."""
        self._asked: set[str] = set()
        """Where it is to be kept what comes of failures that are being run again alone."""
        self._origins: dict[tuple[Kind, str], Series] = {}
        """The series that a failure was found in, by its digest."""
        self._sharing = Sharing(storage)

    # -- what is kept --------------------------------------------------------------------------------------------------

    def take_up(self) -> Iterator[int]:
        """Count what is kept, and say now and then how many shards that were."""
        count, amount = 0, self.plan.amount
        last = math.inf if amount.last is None else amount.last
        for row in self.rows:
            names = self.storage.names(f"{SHARDS}/{row.series.name}")
            seeds = {name: seed for name in names if (seed := seed_of(name)) is not None}
            wanted = [name for name, seed in seeds.items() if amount.first <= seed <= last]
            for at in range(0, len(wanted), AT_ONCE):
                for name, data in self.storage.read_all(wanted[at : at + AT_ONCE]).items():
                    self._count(row, seeds[name], self._report(name, data))
                    count += 1
                yield count
        for name, data in self.storage.read_all(self.storage.names(CONFIRMED)).items():
            self._again[name] = Again(**json.loads(data))

    def _report(self, name: str, data: bytes) -> Report:
        """The report of a shard; `StorageError` where it is damaged."""
        try:
            return parse(unpacked(data), name)
        except (ValueError, InvalidReport) as error:
            raise StorageError(
                f"{self.storage.url}: {name} cannot be read: {error}; remove it, and the shard is run again"
            ) from None

    def _count(self, row: Row, seed: int, report: Report) -> list[Found]:
        """Add a shard's report, once; the causes that it is the first to show."""
        if seed in row.done:
            return []
        alike = _alike(row.series, report.header)
        merged = self.sums.setdefault(alike, Merged(SHAPES))
        try:
            new = merged.add(report)
        except Unlike as error:
            raise StorageError(f"{self.storage.url}: {Shard(row.series, seed).name} does not count: {error}") from None
        row.done.add(seed)
        row.in_vain = 0
        row.programs += report.programs
        row.failing += bool(report.failures)
        row.seconds += report.footer.seconds if report.footer else 0.0
        for failure in report.failures:
            self._origins.setdefault((alike, digest(failure)), row.series)
        if not new:
            return []
        found, causes = [], merged.causes()
        self._causes[alike] = len(causes)
        for cause in causes:
            names = {(alike, likeness(failure)) for failure in cause.failures}
            if not names & self._told:
                found.append(Found(cause, report.header))
            self._told |= names
        return found

    # -- what is to be done --------------------------------------------------------------------------------------------

    def go_on(self, engine: Engine) -> Iterator[Event | None]:
        """Run what is to be run yet; what happened, and now and then nothing. `StorageError`, `NoCluster`."""
        try:
            while self._begin(engine):
                yield from self._ended(engine)
            for found, merged in self.sums.items():
                for cause in merged.causes():
                    self._confirm(engine, found, cause.shown)
            while engine.busy:
                yield from self._ended(engine)
        finally:
            engine.stop()

    def _begin(self, engine: Engine) -> bool:
        """Give the scheduler what it has place for; whether anything is under way or waits for workers."""
        waiting = False
        groups: dict[tuple[tuple[str, float], ...], list[Row]] = {}
        for row in self.rows:
            groups.setdefault(tuple(sorted(row.series.resources.items())), []).append(row)
        for needs, rows in groups.items():
            place = engine.places(dict(needs)) * AHEAD - sum(len(row.running) for row in rows)
            while (chosen := self._next(rows)) is not None:
                waiting = True
                if place <= 0:
                    break
                row, seed = chosen
                row.running.add(seed)
                shard = Shard(row.series, seed)
                engine.begin(shard, run, shard, self.storage, self.suite, resources=dict(needs), first=False)
                place -= 1
        return waiting or any(row.running for row in self.rows)

    def _next(self, rows: list[Row]) -> tuple[Row, int] | None:
        """The shard that comes next: of the series of which the fewest are done."""
        if time.monotonic() >= self.deadline:
            return None
        for row in sorted(rows, key=lambda each: len(each.done) + len(each.running)):
            seed = row.next(self.plan.amount)
            if seed is not None:
                return row, seed
        return None

    def _ended(self, engine: Engine) -> Iterator[Event | None]:
        """What came of the tasks that have ended."""
        for ended in engine.wait(0.5):
            match ended.task:
                case Shard():
                    yield from self._shard(ended.task, ended, engine)
                case Confirm():
                    yield from self._confirmed(ended.task, ended)
                case other:
                    raise TypeError(f"{other!r} is no task of a campaign")
        yield None

    def _shard(self, shard: Shard, ended: Ended, engine: Engine) -> Iterator[Event]:
        row = next(each for each in self.rows if each.series == shard.series)
        row.running.discard(shard.seed)
        match ended.answer:
            case Done() as done:
                self._sharing.see(shard.name, done.worker)
                found = self._count(row, shard.seed, self._report(shard.name, done.data))
                for each in found:
                    self._confirm(engine, _alike(shard.series, each.header), each.cause.shown)
                yield from found
            case NotDone(why="storage", said=said, worker=worker):
                raise StorageError(f"{said} (on {worker})")
            case NotDone(said=said, worker=worker):
                yield from self._failed(row, shard, f"{said} (on {worker})")
            case _ if ended.how == "failed":
                yield from self._failed(row, shard, ended.said)
            case _:  # lost: it is to be run, as before
                return

    def _failed(self, row: Row, shard: Shard, said: str) -> Iterator[Event]:
        """Count a shard that came to nothing."""
        row.tried[shard.seed] = row.tried.get(shard.seed, 0) + 1
        if row.tried[shard.seed] < TRIES:
            return
        row.given_up[shard.seed] = said
        row.in_vain += 1
        yield Trouble(f"{shard.series.title}, seed {shard.seed}: given up after {TRIES} tries: {said}")
        if row.stopped:
            yield Trouble(f"{shard.series.title}: {TRIES} shards in a row could not be had; nothing more of it is run")

    # -- what was found ------------------------------------------------------------------------------------------------

    def _confirm(self, engine: Engine, found: Kind, failure: Failure) -> None:
        """Have a failure run again alone, unless it was."""
        task = Confirm(self.origin(found, failure), failure)
        if failure.alone is not None or not failure.program or task.name in self._again or task.name in self._asked:
            return
        self._asked.add(task.name)
        program = {"rule": failure.rule, **failure.program}
        engine.begin(task, replay, task.series, program, resources=task.series.resources, first=True)

    def _confirmed(self, task: Confirm, ended: Ended) -> Iterator[Event]:
        """Keep what came of it."""
        self._asked.discard(task.name)
        if isinstance(ended.answer, Again):
            self.storage.create(task.name, (json.dumps(ended.answer.to_json()) + "\n").encode())
            self._again[task.name] = ended.answer
            yield Confirmed(task.failure, ended.answer)

    def origin(self, found: Kind, failure: Failure) -> Series:
        """The series that a failure was found in."""
        return self._origins[found, digest(failure)]

    def standing(self, found: Kind, failure: Failure) -> Again | None:
        """What came of a failure that was run again alone; None where it was not, or its shard did so."""
        return self._again.get(Confirm(self.origin(found, failure), failure).name)

    @property
    def causes(self) -> int:
        """How many causes the failures have."""
        return sum(self._causes.values())

    @property
    def missing(self) -> str | None:
        """What of the plan is not done, in words; None where all is."""
        parts = [part for row in self.rows if (part := row.part(self.plan.amount)) is not None]
        short = sum(part < 1 for part in parts)
        if not short:
            return None
        done = int(100 * sum(parts) / len(parts))
        return f"{done} % of the campaign is done, and {short:,} of {len(parts):,} series not whole"


def _alike(series: Series, header: Header) -> Kind:
    """What shards that are added up have in common; two environments of one framework draw the same programs."""
    return *series.target, *kind(header)
