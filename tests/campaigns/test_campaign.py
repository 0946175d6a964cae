"""Scheduling and merging: each seed is counted once, in whatever order shards end and however often they are
started.
"""

from __future__ import annotations

import gzip
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest

pytest.importorskip("distributed")

from autograd_conformance.campaigns.cluster.engine import Engine, NoCluster, TaskEnd
from autograd_conformance.campaigns.cluster.waiting import NoWorkers
from autograd_conformance.campaigns.execution import campaign as subject
from autograd_conformance.campaigns.execution.campaign import SHARDS_PER_SLOT, Campaign, ReplayTask
from autograd_conformance.campaigns.execution.events import Event, NewCause, Replayed, Trouble
from autograd_conformance.campaigns.execution.progress import TRIES
from autograd_conformance.campaigns.execution.results import PAGE, as_one_run, write_results
from autograd_conformance.campaigns.plans.plan import Amount, Plan
from autograd_conformance.campaigns.shards.shard import Series, Shard
from autograd_conformance.campaigns.shards.work import Done, TaskFailure
from autograd_conformance.campaigns.storage.storage import Storage, StorageError
from autograd_conformance.reporting.merging.failures import SHAPES
from autograd_conformance.reporting.merging.merge import MergedRuns
from autograd_conformance.reporting.records.stream import load, read
from tests.campaigns import quick
from tests.reporting.miniatures import HEADER

ONE, OTHER = Series("a:X", (), "both", "cpu", 30), Series("b:Y", (), "both", "cpu", 30)
TWELVE = Amount(1, 12)
SUITE = quick.work.sources.suite()

Fate = Callable[[object, int], Any]
"""The end of a task instead of its result, by the task and its number; None: the task runs."""


@dataclass
class Here:
    """An engine in this process: `wait` runs the first or the last submitted task."""

    workers: int = 2
    newest: bool = False
    fate: Fate = lambda task, number: None
    tasks: deque[tuple[object, Callable[[], Any]]] = field(default_factory=deque)
    begun: list[object] = field(default_factory=list)
    given_up: list[object] = field(default_factory=list)
    refuser: str = ""
    """The address of a worker that rejects each task that does not avoid it."""

    @property
    def busy(self) -> bool:
        return bool(self.tasks)

    def capacity(self, resources: Mapping[str, float]) -> int:
        return self.workers if resources.get("GPU", 0) == 0 else 0

    def submit(
        self,
        task: object,
        function: Callable[..., Any],
        *given: Any,
        resources: object,
        first: bool,
        avoid: Collection[str] = (),
    ) -> None:
        self.begun.append(task)
        refused = bool(self.refuser) and self.refuser not in avoid
        self.tasks.append((task, lambda: TaskFailure("rejected", "not here", "w1") if refused else function(*given)))

    def wait(self, seconds: float) -> Iterator[TaskEnd]:
        if not self.tasks:
            return
        task, call = self.tasks.pop() if self.newest else self.tasks.popleft()
        fate = TaskEnd(task, "lost") if task in self.given_up else self.fate(task, self.begun.index(task))
        if isinstance(fate, BaseException):
            raise fate
        if not isinstance(fate, TaskEnd):
            fate = TaskEnd(task, "returned", call() if fate is None else fate, worker=self.refuser)
        yield fate

    def cancel(self, tasks: Sequence[object]) -> None:
        self.given_up += [task for task, _ in self.tasks if task in tasks]

    def stop(self) -> None:
        self.tasks.clear()


@pytest.fixture(autouse=True)
def without_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "run", quick.run)
    monkeypatch.setattr(subject, "replay", quick.replay)
    monkeypatch.setattr(quick.work, "_run_process", quick.work._run_process)  # `quick.run` replaces it


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(str(tmp_path / "kept"), pause=0.001)


def begun(storage: Storage, *series: Series, amount: Amount = TWELVE) -> Campaign:
    """A campaign that was resumed from the storage."""
    found = Campaign(Plan(series or (ONE, OTHER), amount), storage, SUITE)
    list(found.resume())
    return found


def carried_on(campaign: Campaign, engine: Here) -> list[Event]:
    """The events of a campaign until its end."""
    return [event for event in campaign.run(cast(Engine, engine)) if event is not None]


def shards(engine: Here) -> list[Shard]:
    return [task for task in engine.begun if isinstance(task, Shard)]


def whole(campaign: Campaign) -> list[Any]:
    """All merged reports of a campaign, in an order that does not depend on the order of events."""
    return [campaign.merged[each].report() for each in sorted(campaign.merged, key=repr)]


def test_each_seed_of_each_series_is_run_once_and_the_sum_is_that_of_their_reports(storage: Storage) -> None:
    campaign, engine = begun(storage), Here()
    events = carried_on(campaign, engine)
    assert sorted((each.series.framework, each.seed) for each in shards(engine)) == [
        (series.framework, seed) for series in (ONE, OTHER) for seed in range(1, 13)
    ]
    alone = [quick.report(series, seed) for series in (ONE, OTHER) for seed in range(1, 13)]
    assert whole(campaign) == [_sum(alone[:12]), _sum(alone[12:])]
    assert [each.cause.shown.rule for each in events if isinstance(each, NewCause)] == [quick.FAILURE.rule] * 2
    assert campaign.missing is None
    assert campaign.causes == 2


def test_series_run_side_by_side(storage: Storage) -> None:
    engine = Here()
    carried_on(begun(storage), engine)
    first = [each.series for each in shards(engine)[:12]]
    assert first.count(ONE) == first.count(OTHER) == 6


@pytest.mark.parametrize("ends", [KeyboardInterrupt(), NoCluster("gone")])
@pytest.mark.parametrize("after", [0, 1, 7])
def test_what_is_kept_is_not_run_again_after_any_end(storage: Storage, after: int, ends: BaseException) -> None:
    first = Here(newest=True, fate=lambda task, number: ends if number == after else None)
    campaign = begun(storage)
    with pytest.raises(type(ends)):
        carried_on(campaign, first)
    kept = storage.names("shards")
    second = Here()
    again = begun(storage)
    assert sum(len(row.done) for row in again.progress) == len(kept)
    carried_on(again, second)
    assert not {each.name for each in shards(second)} & set(kept)
    assert len(storage.names("shards")) == 24
    assert whole(again) == [_sum(_all()[:12]), _sum(_all()[12:])]


def test_the_order_in_which_shards_end_makes_no_difference(tmp_path: Path) -> None:
    found = []
    for newest in (False, True):
        campaign = begun(Storage(str(tmp_path / str(newest))))
        carried_on(campaign, Here(workers=5, newest=newest))
        found.append(whole(campaign))
    assert found[0] == found[1]


def test_what_another_campaign_of_the_same_plan_keeps_meanwhile_counts_once(storage: Storage) -> None:
    def other(task: object, number: int) -> None:
        if number == 3:
            carried_on(begun(storage), Here())

    campaign = begun(storage)
    carried_on(campaign, Here(fate=other))
    assert whole(campaign) == [_sum(_all()[:12]), _sum(_all()[12:])]


def test_a_longer_plan_continues_after_a_shorter_one(storage: Storage) -> None:
    carried_on(begun(storage, amount=Amount(1, 5)), Here())
    engine = Here()
    carried_on(begun(storage, amount=Amount(4, 8)), engine)
    assert sorted({each.seed for each in shards(engine)}) == [6, 7, 8]
    short = begun(storage, amount=Amount(2, 3))
    assert [sorted(row.done) for row in short.progress] == [[2, 3], [2, 3]], "what is not asked for is not counted"


def test_as_many_shards_are_run_as_so_many_programs_take(storage: Storage) -> None:
    """A shard with seed n has n programs for each of three rules."""
    campaign = begun(storage, ONE, amount=Amount(5, programs=100))
    carried_on(campaign, Here(workers=1))
    assert campaign.progress[0].programs >= 100
    assert sorted(campaign.progress[0].done) == list(range(5, 5 + len(campaign.progress[0].done)))
    last = sorted(campaign.progress[0].done)[-SHARDS_PER_SLOT:]
    assert campaign.progress[0].programs - 3 * sum(last) < 100, "no more than were under way when it was enough"
    more = Here()
    carried_on(begun(storage, ONE, amount=Amount(5, programs=100)), more)
    assert not shards(more)


def test_no_shard_is_begun_when_the_time_is_over(storage: Storage) -> None:
    campaign = begun(storage, ONE, amount=Amount(hours=1))
    campaign.time_limit.deadline = 0.0
    engine = Here()
    assert not carried_on(campaign, engine)
    assert not engine.begun


def test_a_task_that_is_lost_is_begun_again_and_nobody_is_blamed(storage: Storage) -> None:
    seen: list[object] = []

    def lost(task: object, number: int) -> TaskEnd | None:
        seen.append(task)
        return TaskEnd(task, "lost") if isinstance(task, Shard) and seen.count(task) <= 2 * TRIES else None

    campaign = begun(storage)
    assert not [each for each in carried_on(campaign, Here(fate=lost)) if isinstance(each, Trouble)]
    assert whole(campaign) == [_sum(_all()[:12]), _sum(_all()[12:])]


@pytest.mark.parametrize("how", ["failed", "rejected"])
def test_a_shard_that_cannot_be_had_is_given_up_and_the_others_continue(storage: Storage, how: str) -> None:
    def fails(task: object, number: int) -> Any:
        if not isinstance(task, Shard) or task.series != ONE or task.seed != 4:
            return None
        return (
            TaskEnd(task, "failed", reason="KilledWorker: x")
            if how == "failed"
            else TaskFailure("failed", "no luck", "w1")
        )

    campaign, engine = begun(storage), Here(fate=fails)
    (trouble,) = [each for each in carried_on(campaign, engine) if isinstance(each, Trouble)]
    said = "KilledWorker: x" if how == "failed" else "no luck (on w1)"
    assert trouble.message == f"a:X, seed 4: given up after {TRIES} tries: {said}"
    assert shards(engine).count(Shard(ONE, 4)) == TRIES
    assert [len(row.done) for row in campaign.progress] == [11, 12]
    assert campaign.missing == "95 % of the campaign is done, and 1 of 2 series are incomplete"
    footer = as_one_run(next(iter(campaign.merged.values())), campaign.missing).footer
    assert footer is not None
    assert (footer.verdict, footer.reason, footer.exit_code) == ("cut short", campaign.missing, 1)
    again = begun(storage)
    carried_on(again, Here())
    assert again.missing is None, "the next command tries it again"


def test_a_framework_that_no_worker_has_costs_no_more_than_some_shards(storage: Storage) -> None:
    def refuses(task: object, number: int) -> Any:
        no = isinstance(task, Shard) and task.series == ONE
        return TaskFailure("rejected", "an adapter error: 'torch' is not installed", "w1") if no else None

    campaign, engine = begun(storage, amount=Amount(1, 50)), Here(fate=refuses)
    troubles = [each.message for each in carried_on(campaign, engine) if isinstance(each, Trouble)]
    assert "a:X: 3 shards in a row failed; the series is stopped" in troubles
    assert "'torch' is not installed (on w1)" in troubles[0]
    assert [len(row.done) for row in campaign.progress] == [0, 50]
    assert len([each for each in shards(engine) if each.series == ONE]) < 15


def test_a_worker_that_lacks_the_framework_leaves_its_shards_to_others(storage: Storage) -> None:
    campaign, engine = begun(storage, amount=TWELVE), Here(refuser="tcp://w1")
    assert not [each for each in carried_on(campaign, engine) if isinstance(each, Trouble)]
    assert [len(row.done) for row in campaign.progress] == [12, 12]
    assert len(shards(engine)) < 24 + TRIES * 4


def test_a_series_that_fails_from_some_time_on_ends_too(storage: Storage) -> None:
    def breaks(task: object, number: int) -> Any:
        return TaskFailure("failed", "broken", "w1") if isinstance(task, Shard) and task.seed > 3 else None

    campaign, engine = begun(storage, ONE, amount=Amount(programs=10_000)), Here(fate=breaks)
    assert "3 shards in a row failed" in [str(each) for each in carried_on(campaign, engine)][-1]
    assert sorted(campaign.progress[0].done) == [1, 2, 3]
    assert len(shards(engine)) < 30
    assert campaign.missing is not None


def test_a_worker_with_another_suite_runs_nothing(storage: Storage) -> None:
    answer = quick.run(Shard(ONE, 1), storage, "f" * 64)
    assert isinstance(answer, TaskFailure)
    assert answer.kind == "other suite"
    assert answer.reason.endswith(f"source {SUITE[:8]}) is not the campaign's (source ffffffff)")
    assert storage.names("shards") == []


def test_a_storage_that_workers_do_not_share_is_reported(storage: Storage, tmp_path: Path) -> None:
    elsewhere = Storage(str(tmp_path / "elsewhere"))

    def apart(task: object, number: int) -> Any:
        return quick.run(cast(Shard, task), elsewhere, SUITE)

    with pytest.raises(
        StorageError, match="but this process does not find it; choose a storage that all workers share"
    ):
        carried_on(begun(storage), Here(fate=apart))


def test_a_storage_that_takes_nothing_ends_the_campaign(storage: Storage) -> None:
    def full(task: object, number: int) -> TaskFailure:
        return TaskFailure("storage", "x: No space left on device", "w1")

    with pytest.raises(StorageError, match=r"^x: No space left on device \(on w1\)$"):
        carried_on(begun(storage), Here(fate=full))


@pytest.mark.parametrize(  # the names are given: a compressed file holds the time, which differs between workers
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\x1f\x8b", id="two-bytes"),
        pytest.param(b"no", id="not-compressed"),
        pytest.param(gzip.compress(b"{}\n"), id="no-footer"),
        pytest.param(gzip.compress(b'{"record":"head'), id="half-a-line"),
    ],
)
def test_records_that_cannot_be_read_are_named(storage: Storage, data: bytes) -> None:
    storage.create(Shard(ONE, 3).name, data)
    with pytest.raises(StorageError, match=rf"{Shard(ONE, 3).name} cannot be read: .*; remove it, and the shard is"):
        begun(storage)


def test_series_that_need_what_no_worker_has_wait_and_others_continue(storage: Storage) -> None:
    needy = replace(OTHER, resources={"GPU": 1.0})
    campaign, engine = begun(storage, ONE, needy), Here()
    campaign.waiting.limit = 0.0
    with pytest.raises(NoWorkers, match=r"^no worker offers GPU=1, and none arrived within 0 s$"):
        carried_on(campaign, engine)
    assert [len(row.done) for row in campaign.progress] == [12, 0]


def test_a_failure_is_run_again_alone_once(storage: Storage) -> None:
    engine = Here(workers=1)
    campaign = begun(storage, ONE)
    events = carried_on(campaign, engine)
    assert len([task for task in engine.begun if isinstance(task, ReplayTask)]) == 1, "it is one program, however told"
    assert len([each for each in events if isinstance(each, Replayed)]) == 1
    again = Here()
    assert not carried_on(begun(storage, ONE), again)
    assert not again.begun, "it is kept what came of it"


def test_what_is_left_behind(storage: Storage, tmp_path: Path) -> None:
    campaign = begun(storage)
    carried_on(campaign, Here())
    first, other = write_results(campaign, tmp_path / "out")
    report = read(first.folder / "records.jsonl")
    assert first.folder.name == "a-x-1.2"
    assert load(other.folder / "records.jsonl") == other.report
    assert (report.header.seed, report.header.profile) == (None, "campaign of 12 runs")
    assert {each.verdict for each in report.results} == {"fail", "pass"}
    (failure,) = report.failures
    assert failure.alone is not None
    assert failure.alone.failed == 1
    assert failure.command == f"autograd-conformance --framework=a:X --replay={failure.replay}"
    assert Path(failure.replay or "").parent == first.folder / "replay"
    text = (tmp_path / "out" / PAGE).read_text()
    assert "| a:X | 12 | 234 | 0.00 |  |" in text
    assert "| 1 | silently wrong | lifetime/same-root-raises |  |" in text
    assert f"| 2 | 5 | fails | `{failure.replay}` |" in text
    assert "Unfinished" not in text
    assert "2 runs" not in text
    assert (tmp_path / "out" / "site" / "run" / "a-x-1.2.html").exists()
    write_results(campaign, tmp_path / "out")  # overwrites the earlier results


def test_two_versions_of_a_framework_are_two_reports(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    made = quick.report

    def changing(series: Series, seed: int) -> Any:
        framework = replace(HEADER.framework, name=series.framework, version=f"1.{seed % 2}")
        return replace(made(series, seed), header=replace(HEADER, framework=framework, seed=seed))

    monkeypatch.setattr(quick, "report", changing)
    campaign = begun(storage, ONE)
    carried_on(campaign, Here())
    assert [each.header.framework.version for each in whole(campaign)] == ["1.0", "1.1"]
    assert sum(each.programs for each in whole(campaign)) == 234


def test_two_environments_of_one_framework_are_two_reports(storage: Storage, tmp_path: Path) -> None:
    """Both draw the same programs, and describe themselves in the same way."""
    campaign = begun(storage, ONE, replace(ONE, python="envs/next/bin/python"))
    carried_on(campaign, Here())
    assert whole(campaign) == [_sum(_all()[:12])] * 2
    assert len({each.folder for each in write_results(campaign, tmp_path / "out")}) == 2


def test_programs_that_two_series_draw_are_never_counted_twice(storage: Storage) -> None:
    """Plans in which two series overlap are refused. This campaign was made without a plan."""
    with pytest.raises(StorageError, match=r"does not count: two runs have the same seed"):
        carried_on(begun(storage, ONE, replace(ONE, confirm=1)), Here())


def _sum(reports: list[Any]) -> Any:
    found = MergedRuns(SHAPES)
    for each in reports:
        found.add(each)
    return found.report()


def _all() -> list[Any]:
    return [quick.report(series, seed) for series in (ONE, OTHER) for seed in range(1, 13)]


def test_an_answer_that_is_kept_is_what_was_run(storage: Storage) -> None:
    first, second = (quick.run(Shard(ONE, 7), storage, SUITE) for _ in range(2))
    assert isinstance(first, Done)
    assert isinstance(second, Done)
    assert (first.is_new, second.is_new) == (True, False)
    assert first.data == second.data == storage.read(Shard(ONE, 7).name)
