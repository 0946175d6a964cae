"""Campaigns that cannot continue, or whose time is over: they end soon, with a message, and lose no records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

pytest.importorskip("distributed")

from autograd_conformance.campaigns.cluster.engine import Engine, TaskEnd
from autograd_conformance.campaigns.cluster.waiting import NoWorkers, Waiting
from autograd_conformance.campaigns.execution import campaign as subject
from autograd_conformance.campaigns.execution import time_limit as hours
from autograd_conformance.campaigns.execution.events import Trouble
from autograd_conformance.campaigns.plans.plan import Amount
from autograd_conformance.campaigns.shards import work
from autograd_conformance.campaigns.shards.shard import Shard
from autograd_conformance.campaigns.shards.work import TaskFailure
from autograd_conformance.campaigns.storage.storage import Storage
from autograd_conformance.processes.child import Finished
from autograd_conformance.reporting.records.records import Report
from autograd_conformance.reporting.records.stream import write
from tests.campaigns import quick
from tests.campaigns.test_campaign import ONE, OTHER, SUITE, Here, begun, carried_on, shards
from tests.reporting.miniatures import FOOTER, HEADER

WORKERS = 2
"""Number of shards that run at once. Each takes a second."""


@pytest.fixture(autouse=True)
def without_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "run", quick.run)
    monkeypatch.setattr(subject, "replay", quick.replay)
    monkeypatch.setattr(work, "_run_process", work._run_process)  # `quick.run` replaces it


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(str(tmp_path / "kept"), pause=0.001)


@dataclass
class Clock:
    """A clock that only the test advances."""

    now: float = 1_000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(hours, "time", found)
    return found


class Ticking(Here):
    """An engine whose shards advance the clock."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(workers=WORKERS)
        self.clock = clock

    def wait(self, seconds: float) -> Iterator[TaskEnd]:
        if self.tasks and isinstance(self.tasks[0][0], Shard):
            self.clock.now += 1 / WORKERS
        yield from super().wait(seconds)


def lasting(seconds: float) -> Amount:
    return Amount(hours=seconds / 3600)


def test_a_campaign_ends_with_its_hours(storage: Storage, clock: Clock) -> None:
    campaign, engine = begun(storage, ONE, amount=lasting(10)), Ticking(clock)
    carried_on(campaign, engine)
    assert len(campaign.progress[0].done) == 10 * WORKERS, "no process had nothing to do"
    assert clock.now <= campaign.time_limit.deadline
    assert sorted(campaign.progress[0].done) == list(range(1, 1 + 10 * WORKERS))


def test_a_command_whose_hours_are_shorter_than_a_shard_begins_one_in_each_process(
    storage: Storage, clock: Clock
) -> None:
    for commands in (1, 2, 3):
        campaign, engine = begun(storage, ONE, amount=lasting(0.75)), Ticking(clock)
        carried_on(campaign, engine)
        assert len(shards(engine)) == (2 * WORKERS if commands == 1 else WORKERS), "the first knows nothing of shards"
        assert len(campaign.progress[0].done) == (1 + commands) * WORKERS


def test_a_series_of_short_shards_continues_where_a_long_one_would_not_end_in_time(
    storage: Storage, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = quick.report

    def report(series: Any, seed: int) -> Report:
        found = made(series, seed)
        assert found.footer is not None
        return replace(found, footer=replace(found.footer, seconds=100.0 if series == ONE else 1.0))

    monkeypatch.setattr(quick, "report", report)
    campaign = begun(storage, ONE, OTHER, amount=lasting(10))
    carried_on(campaign, Ticking(clock))
    long, short = (len(row.done) for row in campaign.progress)
    assert long <= 2 * WORKERS < short


@dataclass
class Cluster:
    """A cluster whose workers offer given resources."""

    offers: dict[str, float]

    def capacity(self, resources: Mapping[str, float]) -> int:
        return int(all(self.offers.get(name, 0) >= much for name, much in resources.items()))


def test_workers_are_waited_for_until_the_limit_and_again_after_one_had_come(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, cluster, waiting = Clock(), Cluster({}), Waiting(limit=60.0)
    monkeypatch.setattr("autograd_conformance.campaigns.cluster.waiting.time", clock)
    engine = cast(Engine, cluster)
    needs = [{"GPU": 1.0}, {"GPU": 1.0}, {"GPU": 2.0, "tpu": 1.0}]
    waiting.check(engine, needs)
    clock.now += 59
    waiting.check(engine, needs)
    assert (
        waiting.describe(engine, needs) == "waiting for workers that offer GPU=1, or GPU=2 and tpu=1, 1 s more at most"
    )
    cluster.offers = {"GPU": 1.0}
    waiting.check(engine, needs)
    assert waiting.describe(engine, needs) == "waiting for workers that offer GPU=2 and tpu=1", (
        "others are run meanwhile"
    )
    cluster.offers = {}
    waiting.check(engine, needs)
    clock.now += 59
    waiting.check(engine, needs)
    clock.now += 1
    with pytest.raises(
        NoWorkers, match=r"^no worker offers GPU=1, or GPU=2 and tpu=1, and none arrived within 1 min 0 s$"
    ):
        waiting.check(engine, needs)
    waiting.check(engine, [])
    assert waiting.describe(engine, []) == ""


def test_a_cluster_without_any_worker_is_reported_as_such() -> None:
    class Nobody:
        def capacity(self, resources: Mapping[str, float]) -> int:
            return 0

    engine = cast(Engine, Nobody())
    assert Waiting(limit=float("inf")).describe(engine, [{}, {"GPU": 1.0}]) == "waiting for workers"
    with pytest.raises(NoWorkers, match=r"^there is no worker, and none arrived within 0 s$"):
        Waiting(limit=0.0).check(engine, [{}])


def test_a_series_that_had_no_worker_when_the_time_was_over_is_reported(storage: Storage, clock: Clock) -> None:
    campaign = begun(storage, ONE, replace(OTHER, resources={"GPU": 1.0}), amount=lasting(5))
    with pytest.raises(NoWorkers, match=r"^no worker offers GPU=1, and none arrived before the time was over$"):
        carried_on(campaign, Waits(clock))
    assert [len(row.done) > 5 for row in campaign.progress] == [True, False]


class Waits(Ticking):
    """Advances the clock even if no task is running."""

    def wait(self, seconds: float) -> Iterator[TaskEnd]:
        self.clock.now += 0 if self.tasks else seconds
        yield from super().wait(seconds)


def test_a_shard_that_is_too_small_for_its_audit_is_tried_once(storage: Storage) -> None:
    def small(task: object, number: int) -> Any:
        no = isinstance(task, Shard) and task.series == ONE
        return TaskFailure("too small", "a shard of 30 programs ends within its audit", "w1") if no else None

    campaign, engine = begun(storage), Here(fate=small)
    (trouble,) = [each.message for each in carried_on(campaign, engine) if isinstance(each, Trouble)]
    assert trouble == "a:X: a shard of 30 programs ends within its audit; the series is stopped"
    tried = [each for each in shards(engine) if each.series == ONE]
    assert len(tried) == len(set(tried)) <= subject.SHARDS_PER_SLOT * WORKERS
    assert set(engine.given_up) == set(tried[1:]), "what had begun is given up"
    assert [len(row.done) for row in campaign.progress] == [0, 12]
    assert list(campaign.progress[0].given_up) == [tried[0].seed]
    assert campaign.missing == "50 % of the campaign is done, and 1 of 2 series are incomplete"


def test_a_series_is_stopped_while_failures_are_replayed(storage: Storage) -> None:
    def small(task: object, number: int) -> Any:
        no = isinstance(task, Shard) and any(isinstance(each, subject.ReplayTask) for each, _ in engine.tasks)
        return TaskFailure("too small", "a shard of 30 programs ends within its audit", "w1") if no else None

    campaign, engine = begun(storage, ONE), Here(fate=small)
    carried_on(campaign, engine)
    assert any(isinstance(each, subject.ReplayTask) for each in engine.begun)
    assert engine.given_up
    assert all(isinstance(each, Shard) for each in engine.given_up), "the replay goes on"


def test_records_of_a_shard_that_ended_within_its_audit(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    def started(words: object, series: object, folder: Path) -> Finished:
        footer = replace(FOOTER, verdict="interrupted", reason="too few programs", programs=0, cut_in_audit="programs")
        write(Report(HEADER, (), (), (), footer), folder / "report" / "records.jsonl")
        return Finished(2, "", "")

    monkeypatch.setattr(work, "_run_process", started)
    answer = work.run(Shard(ONE, 1), storage, SUITE)
    assert isinstance(answer, TaskFailure)
    assert answer.kind == "too small"
    assert answer.reason == (
        "a shard of 30 programs ends during the initial audit of the ops, and judges nothing: make `shard` larger"
    )
    assert storage.names("shards") == []
