"""A campaign: schedules the shards of a plan (runs with one seed each), and merges their reports. Stored shards are not
run again.

A campaign has no other state than what follows from the storage. It can be resumed at any time, on any cluster.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass

from autograd_conformance.campaigns.cluster.engine import Engine, TaskEnd
from autograd_conformance.campaigns.cluster.waiting import Needs, Waiting, require_workers
from autograd_conformance.campaigns.execution.events import Event, NewCause, Replayed, Trouble
from autograd_conformance.campaigns.execution.progress import TRIES, SeriesProgress
from autograd_conformance.campaigns.execution.time_limit import TimeLimit
from autograd_conformance.campaigns.plans.plan import Plan
from autograd_conformance.campaigns.shards.shard import SHARDS, Series, Shard, seed_of
from autograd_conformance.campaigns.shards.work import Done, ReplayResult, TaskFailure, decompressed, replay, run
from autograd_conformance.campaigns.storage.sharing import Sharing
from autograd_conformance.campaigns.storage.storage import Storage, StorageError
from autograd_conformance.reporting.merging.compatibility import IncompatibleRuns, Kind, kind
from autograd_conformance.reporting.merging.failures import SHAPES, failure_key, program_key
from autograd_conformance.reporting.merging.merge import MergedRuns
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import Header, Report
from autograd_conformance.reporting.records.stream import InvalidReport, parse

SHARDS_PER_SLOT = 2
"""Number of shards that are submitted for each one that the cluster can run at once, so that a worker that ends one
finds the next."""

READ_BATCH = 64
"""Number of shards whose records are read from the storage at once."""

CONFIRMED = "confirmed"
"""The folder in the storage for the results of replayed failures."""


@dataclass(frozen=True, slots=True)
class ReplayTask:
    """The task to run a failing program of a series again, in a separate process."""

    series: Series
    failure: Failure

    @property
    def name(self) -> str:
        """The name in the storage of the file for the result."""
        return f"{CONFIRMED}/{self.series.name}/{program_key(self.failure)}.json"


class Campaign:
    """A plan with its progress and the merged reports of its shards."""

    def __init__(self, plan: Plan, storage: Storage, suite: str, waiting: Waiting | None = None) -> None:
        self.plan, self.storage, self.suite = plan, storage, suite
        self.waiting = waiting or Waiting()
        self.progress = [SeriesProgress(series) for series in plan.series]
        self.merged: dict[Kind, MergedRuns] = {}
        """Merged reports of shards, by adapter, environment, framework, version, device and dtypes."""
        self._replays: dict[str, ReplayResult] = {}
        """Results of replayed failures, by the names of their files in the storage."""
        self.time_limit = TimeLimit.of(plan.amount.hours)
        self._causes: dict[Kind, int] = {}
        self._reported: set[tuple[Kind, str]] = set()
        """Keys of failures that were already reported as new."""
        self._replaying: dict[str, Series] = {}
        """The series of each failure that is being replayed, by the name of the file for the result."""
        self._origins: dict[tuple[Kind, str], Series] = {}
        """The series in which each failure was found, by the key of its program."""
        self._sharing = Sharing(storage)

    # -- stored records ------------------------------------------------------------------------------------------------

    def resume(self) -> Iterator[int]:
        """Reads the stored shards and replay results; yields the number of shards so far, after each batch."""
        count, amount = 0, self.plan.amount
        last = math.inf if amount.last is None else amount.last
        for row in self.progress:
            names = self.storage.names(f"{SHARDS}/{row.series.name}")
            seeds = {name: seed for name in names if (seed := seed_of(name)) is not None}
            wanted = [name for name, seed in seeds.items() if amount.first <= seed <= last]
            for at in range(0, len(wanted), READ_BATCH):
                for name, data in self.storage.read_all(wanted[at : at + READ_BATCH]).items():
                    self._count(row, seeds[name], self._report(name, data))
                    count += 1
                yield count
        for name, data in self.storage.read_all(self.storage.names(CONFIRMED)).items():
            self._replays[name] = ReplayResult.from_json(data)

    def _report(self, name: str, data: bytes) -> Report:
        """Reads the report of a stored shard. Raises `StorageError` if the file is damaged."""
        try:
            return parse(decompressed(data), name)
        except (ValueError, InvalidReport) as error:
            raise StorageError(
                f"{self.storage.url}: {name} cannot be read: {error}; remove it, and the shard is run again"
            ) from None

    def _count(self, row: SeriesProgress, seed: int, report: Report) -> list[NewCause]:
        """Merges the report of a shard, once; returns the causes of failures that no shard showed before."""
        if seed in row.done:
            return []
        key = _merge_key(row.series, report.header)
        merged = self.merged.setdefault(key, MergedRuns(SHAPES))
        try:
            new = merged.add(report)
        except IncompatibleRuns as error:
            raise StorageError(f"{self.storage.url}: {Shard(row.series, seed).name} does not count: {error}") from None
        row.done.add(seed)
        row.consecutive_failures = 0
        row.programs += report.programs
        row.failing += bool(report.failures)
        row.seconds += report.footer.seconds if report.footer else 0.0
        for failure in report.failures:
            self._origins.setdefault((key, program_key(failure)), row.series)
        if not new:
            return []
        found, causes = [], merged.causes()
        self._causes[key] = len(causes)
        for cause in causes:
            names = {(key, failure_key(failure)) for failure in cause.failures}
            if not names & self._reported:
                found.append(NewCause(cause, report.header))
            self._reported |= names
        return found

    # -- scheduling ----------------------------------------------------------------------------------------------------

    def run(self, engine: Engine) -> Iterator[Event | None]:
        """Runs the remaining shards; yields events, and None about twice a second.

        Raises `StorageError`, `NoCluster` or `NoWorkers`.
        """
        try:
            while self._submit(engine):
                yield from self._collect(engine)
            for found, merged in self.merged.items():
                for cause in merged.causes():
                    self._submit_replay(engine, found, cause.shown)
            while engine.busy:
                yield from self._collect(engine)
            never = (row for row in self.progress if not row.submitted and row.next_seed(self.plan.amount) is not None)
            require_workers(engine, (row.series.resources for row in never))
        finally:
            engine.stop()

    def _submit(self, engine: Engine) -> bool:
        """Submits shards until `SHARDS_PER_SLOT` times as many as the cluster can run at once are under way; returns
        True if shards are running or wait for workers.
        """
        waiting = False
        groups: dict[tuple[tuple[str, float], ...], list[SeriesProgress]] = {}
        for row in self.progress:
            groups.setdefault(tuple(sorted(row.series.resources.items())), []).append(row)
        for needs, rows in groups.items():
            capacity = engine.capacity(dict(needs))
            while (chosen := self._next(rows, capacity)) is not None:
                waiting = True
                if sum(len(row.running) for row in rows) >= capacity * SHARDS_PER_SLOT:
                    break
                row, seed = chosen
                row.running.add(seed)
                row.submitted += 1
                shard = Shard(row.series, seed)
                engine.submit(
                    shard, run, shard, self.storage, self.suite,
                    resources=dict(needs), first=False, avoid=row.rejecting_workers,
                )  # fmt: skip
        return waiting or any(row.running for row in self.progress)

    def _next(self, rows: list[SeriesProgress], capacity: int) -> tuple[SeriesProgress, int] | None:
        """Returns the next shard of these series as a series and a seed: of the series with the fewest shards done or
        running, and only if the shard is expected to end in time; otherwise None.

        The first `capacity` shards are run in any case, so that each command makes progress.
        """
        if not self.time_limit.left:
            return None
        rounds = 1 + sum(len(row.running) for row in rows) // max(1, capacity)
        first = sum(row.submitted for row in rows) < max(1, capacity)
        for row in sorted(rows, key=lambda each: len(each.done) + len(each.running)):
            seed = row.next_seed(self.plan.amount)
            if seed is not None and (first or self.time_limit.allows(row, self.progress, rounds)):
                return row, seed
        return None

    def needs(self) -> Iterator[Needs]:
        """Yields the resources that a shard of each unfinished series needs, and those of failures that are being
        replayed.
        """
        for row in self.progress:
            if row.running or self._next([row], 1) is not None:
                yield row.series.resources
        yield from (series.resources for series in self._replaying.values())

    def _collect(self, engine: Engine) -> Iterator[Event | None]:
        """Yields the events of the tasks that have ended, and then None."""
        for ended in engine.wait(0.5):
            match ended.task:
                case Shard():
                    yield from self._finish_shard(ended.task, ended, engine)
                case ReplayTask():
                    yield from self._finish_replay(ended.task, ended)
                case other:
                    raise TypeError(f"{other!r} is not a task of a campaign")
        self.waiting.check(engine, self.needs())
        yield None

    def _finish_shard(self, shard: Shard, ended: TaskEnd, engine: Engine) -> Iterator[Event]:
        row = self._progress_of(shard.series)
        row.running.discard(shard.seed)
        match ended.result:
            case Done() as done:
                self._sharing.check(shard.name, done.worker)
                found = self._count(row, shard.seed, self._report(shard.name, done.data))
                for each in found:
                    self._submit_replay(engine, _merge_key(shard.series, each.header), each.cause.shown)
                yield from found
            case TaskFailure(kind="storage", reason=reason, worker=worker):
                raise StorageError(f"{reason} (on {worker})")
            case TaskFailure(kind="too small", reason=reason):
                yield from self._stop_series(row, shard, reason, engine)
            case TaskFailure(reason=reason, worker=worker) as not_done:
                if not_done.depends_on_worker:
                    row.rejecting_workers.add(ended.worker)
                yield from self._count_failure(row, shard, f"{reason} (on {worker})")
            case _ if ended.outcome == "failed":
                yield from self._count_failure(row, shard, ended.reason)
            case _:  # lost: it will be submitted again
                return

    def _progress_of(self, series: Series) -> SeriesProgress:
        return next(each for each in self.progress if each.series == series)

    def _count_failure(self, row: SeriesProgress, shard: Shard, reason: str) -> Iterator[Event]:
        """Counts a failed attempt of a shard, and gives the shard up after too many attempts."""
        row.attempts[shard.seed] = row.attempts.get(shard.seed, 0) + 1
        if row.attempts[shard.seed] < TRIES or row.rejection:
            return
        row.given_up[shard.seed] = reason
        row.consecutive_failures += 1
        yield Trouble(f"{shard.series.title}, seed {shard.seed}: given up after {TRIES} tries: {reason}")
        if row.stop_reason:
            yield Trouble(f"{shard.series.title}: {TRIES} shards in a row failed; the series is stopped")

    def _stop_series(self, row: SeriesProgress, shard: Shard, reason: str, engine: Engine) -> Iterator[Event]:
        """Gives up a series of which a shard ended before it judged a program, as all its shards would."""
        if row.rejection:
            return
        row.rejection = row.given_up[shard.seed] = reason
        yield Trouble(f"{shard.series.title}: {reason}; the series is stopped")
        engine.cancel([Shard(row.series, seed) for seed in row.running])

    # -- replaying failures --------------------------------------------------------------------------------------------

    def _submit_replay(self, engine: Engine, found: Kind, failure: Failure) -> None:
        """Submits the replay of a failure, unless its shard already ran it again, a replay of it has ended or is under
        way, or it has no program.
        """
        task = ReplayTask(self.origin(found, failure), failure)
        confirmed = failure.alone is not None and failure.alone.runs
        if confirmed or not failure.program or task.name in self._replays or task.name in self._replaying:
            return
        self._replaying[task.name] = task.series
        program = {"rule": failure.rule, **failure.program}
        rejecting_workers = self._progress_of(task.series).rejecting_workers
        engine.submit(
            task, replay, task.series, program, resources=task.series.resources, first=True, avoid=rejecting_workers
        )

    def _finish_replay(self, task: ReplayTask, ended: TaskEnd) -> Iterator[Event]:
        """Stores the result of a replay, and yields the event that it ended."""
        self._replaying.pop(task.name, None)
        if isinstance(ended.result, ReplayResult):
            self.storage.create(task.name, (json.dumps(ended.result.to_json()) + "\n").encode())
            self._replays[task.name] = ended.result
            yield Replayed(task.failure, ended.result)

    def origin(self, found: Kind, failure: Failure) -> Series:
        """Returns the series in which a failure was found."""
        return self._origins[found, program_key(failure)]

    def replay_result(self, found: Kind, failure: Failure) -> ReplayResult | None:
        """Returns the result of a failure's replay; None if it was not replayed, as when its shard already ran it
        again.
        """
        return self._replays.get(ReplayTask(self.origin(found, failure), failure).name)

    @property
    def causes(self) -> int:
        """Number of distinct causes of the failures in all shards so far."""
        return sum(self._causes.values())

    @property
    def missing(self) -> str | None:
        """The part of the plan that is not done, as text: "40 % of the campaign is done, and 2 of 3 series are
        incomplete"; None if all is done.
        """
        parts = [part for row in self.progress if (part := row.fraction(self.plan.amount)) is not None]
        short = sum(part < 1 for part in parts)
        if not short:
            return None
        done = int(100 * sum(parts) / len(parts))
        return f"{done} % of the campaign is done, and {short:,} of {len(parts):,} series are incomplete"


def _merge_key(series: Series, header: Header) -> Kind:
    """Returns the key of the reports that are merged with a shard's. Two environments of one framework have different
    keys, as their shards draw the same programs.
    """
    return *series.target, *kind(header)
