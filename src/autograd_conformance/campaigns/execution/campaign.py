"""A campaign: which shards are run next, and what all of them came to; what is kept already is not run again.

It holds no more than sums. Whoever runs it again, on whichever cluster, finds the same sums in what is kept.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass

from autograd_conformance.campaigns.cluster.engine import Ended, Engine
from autograd_conformance.campaigns.cluster.waiting import Needs, Waiting, needed_until_the_end
from autograd_conformance.campaigns.execution.events import Confirmed, Event, Found, Trouble
from autograd_conformance.campaigns.execution.progress import TRIES, Row
from autograd_conformance.campaigns.execution.time_limit import Hours
from autograd_conformance.campaigns.plans.plan import Plan
from autograd_conformance.campaigns.shards.shard import SHARDS, Series, Shard, seed_of
from autograd_conformance.campaigns.shards.work import Again, Done, NotDone, replay, run, unpacked
from autograd_conformance.campaigns.storage.sharing import Sharing
from autograd_conformance.campaigns.storage.storage import Storage, StorageError
from autograd_conformance.reporting.merging.compatibility import IncompatibleRuns, Kind, kind
from autograd_conformance.reporting.merging.failures import SHAPES, failure_key, program_key
from autograd_conformance.reporting.merging.merge import MergedRuns
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import Header, Report
from autograd_conformance.reporting.records.stream import InvalidReport, parse

AHEAD = 2
"""How many shards are with the scheduler for each that can run: a worker that ends one finds the next."""

AT_ONCE = 64
"""How many shards' records are read at once."""

CONFIRMED = "confirmed"
"""The folder of the storage that says what came of failures that were run again alone."""


@dataclass(frozen=True, slots=True)
class Confirm:
    """A task: a failure of a series is to be run again alone."""

    series: Series
    failure: Failure

    @property
    def name(self) -> str:
        """Where it is kept what came of it."""
        return f"{CONFIRMED}/{self.series.name}/{program_key(self.failure)}.json"


class Campaign:
    """What a plan comes to, as shards end."""

    def __init__(self, plan: Plan, storage: Storage, suite: str, waiting: Waiting | None = None) -> None:
        self.plan, self.storage, self.suite = plan, storage, suite
        self.waiting = waiting or Waiting()
        self.rows = [Row(series) for series in plan.series]
        self.sums: dict[Kind, MergedRuns] = {}
        """What is alike in adapter, environment, framework, version, device and dtypes, added up."""
        self._again: dict[str, Again] = {}
        """What came of failures that were run again alone, by where that is kept."""
        self.hours = Hours.of(plan.amount.hours)
        self._causes: dict[Kind, int] = {}
        self._told: set[tuple[Kind, str]] = set()
        """What failures that are no news are alike to."""
        self._asked: dict[str, Series] = {}
        """The series of failures that are being run again alone, by where it is to be kept what comes of them."""
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
        merged = self.sums.setdefault(alike, MergedRuns(SHAPES))
        try:
            new = merged.add(report)
        except IncompatibleRuns as error:
            raise StorageError(f"{self.storage.url}: {Shard(row.series, seed).name} does not count: {error}") from None
        row.done.add(seed)
        row.in_vain = 0
        row.programs += report.programs
        row.failing += bool(report.failures)
        row.seconds += report.footer.seconds if report.footer else 0.0
        for failure in report.failures:
            self._origins.setdefault((alike, program_key(failure)), row.series)
        if not new:
            return []
        found, causes = [], merged.causes()
        self._causes[alike] = len(causes)
        for cause in causes:
            names = {(alike, failure_key(failure)) for failure in cause.failures}
            if not names & self._told:
                found.append(Found(cause, report.header))
            self._told |= names
        return found

    # -- what is to be done --------------------------------------------------------------------------------------------

    def go_on(self, engine: Engine) -> Iterator[Event | None]:
        """Run what is to be run yet; what happened, and now and then nothing.

        `StorageError`, `NoCluster`, `NoWorkers`.
        """
        try:
            while self._begin(engine):
                yield from self._ended(engine)
            for found, merged in self.sums.items():
                for cause in merged.causes():
                    self._confirm(engine, found, cause.shown)
            while engine.busy:
                yield from self._ended(engine)
            never = (row for row in self.rows if not row.begun and row.next(self.plan.amount) is not None)
            needed_until_the_end(engine, (row.series.resources for row in never))
        finally:
            engine.stop()

    def _begin(self, engine: Engine) -> bool:
        """Give the scheduler what it has place for; whether anything is under way or waits for workers."""
        waiting = False
        groups: dict[tuple[tuple[str, float], ...], list[Row]] = {}
        for row in self.rows:
            groups.setdefault(tuple(sorted(row.series.resources.items())), []).append(row)
        for needs, rows in groups.items():
            places = engine.places(dict(needs))
            while (chosen := self._next(rows, places)) is not None:
                waiting = True
                if sum(len(row.running) for row in rows) >= places * AHEAD:
                    break
                row, seed = chosen
                row.running.add(seed)
                row.begun += 1
                shard = Shard(row.series, seed)
                engine.begin(
                    shard, run, shard, self.storage, self.suite,
                    resources=dict(needs), first=False, apart_from=row.refusers,
                )  # fmt: skip
        return waiting or any(row.running for row in self.rows)

    def _next(self, rows: list[Row], places: int) -> tuple[Row, int] | None:
        """The shard that comes next: of the series of which the fewest are done, and that is expected to end in time.
        Each of the `places` has one in any case, so that every command gets on.
        """
        if not self.hours.left:
            return None
        rounds = 1 + sum(len(row.running) for row in rows) // max(1, places)
        first = sum(row.begun for row in rows) < max(1, places)
        for row in sorted(rows, key=lambda each: len(each.done) + len(each.running)):
            seed = row.next(self.plan.amount)
            if seed is not None and (first or self.hours.hold(row, self.rows, rounds)):
                return row, seed
        return None

    def needs(self) -> Iterator[Needs]:
        """What all that is to be run needs of a worker."""
        for row in self.rows:
            if row.running or self._next([row], 1) is not None:
                yield row.series.resources
        yield from (series.resources for series in self._asked.values())

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
        self.waiting.look(engine, self.needs())
        yield None

    def _shard(self, shard: Shard, ended: Ended, engine: Engine) -> Iterator[Event]:
        row = self._row(shard.series)
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
            case NotDone(why="too small", said=said):
                yield from self._too_small(row, shard, said, engine)
            case NotDone(said=said, worker=worker) as not_done:
                if not_done.is_of_worker:
                    row.refusers.add(ended.at)
                yield from self._failed(row, shard, f"{said} (on {worker})")
            case _ if ended.how == "failed":
                yield from self._failed(row, shard, ended.said)
            case _:  # lost: it is to be run, as before
                return

    def _row(self, series: Series) -> Row:
        return next(each for each in self.rows if each.series == series)

    def _failed(self, row: Row, shard: Shard, said: str) -> Iterator[Event]:
        """Count a shard that came to nothing."""
        row.tried[shard.seed] = row.tried.get(shard.seed, 0) + 1
        if row.tried[shard.seed] < TRIES or row.refused:
            return
        row.given_up[shard.seed] = said
        row.in_vain += 1
        yield Trouble(f"{shard.series.title}, seed {shard.seed}: given up after {TRIES} tries: {said}")
        if row.stopped:
            yield Trouble(f"{shard.series.title}: {TRIES} shards in a row could not be had; nothing more of it is run")

    def _too_small(self, row: Row, shard: Shard, said: str, engine: Engine) -> Iterator[Event]:
        """End a series: what one of its shards takes beside its programs, all of them do."""
        if row.refused:
            return
        row.refused = row.given_up[shard.seed] = said
        yield Trouble(f"{shard.series.title}: {said}; nothing more of it is run")
        engine.give_up({Shard(row.series, seed) for seed in row.running})

    # -- what was found ------------------------------------------------------------------------------------------------

    def _confirm(self, engine: Engine, found: Kind, failure: Failure) -> None:
        """Have a failure run again alone, unless it was."""
        task = Confirm(self.origin(found, failure), failure)
        confirmed = failure.alone is not None and failure.alone.runs
        if confirmed or not failure.program or task.name in self._again or task.name in self._asked:
            return
        self._asked[task.name] = task.series
        program = {"rule": failure.rule, **failure.program}
        refusers = self._row(task.series).refusers
        engine.begin(
            task, replay, task.series, program, resources=task.series.resources, first=True, apart_from=refusers
        )

    def _confirmed(self, task: Confirm, ended: Ended) -> Iterator[Event]:
        """Keep what came of it."""
        self._asked.pop(task.name, None)
        if isinstance(ended.answer, Again):
            self.storage.create(task.name, (json.dumps(ended.answer.to_json()) + "\n").encode())
            self._again[task.name] = ended.answer
            yield Confirmed(task.failure, ended.answer)

    def origin(self, found: Kind, failure: Failure) -> Series:
        """The series that a failure was found in."""
        return self._origins[found, program_key(failure)]

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
