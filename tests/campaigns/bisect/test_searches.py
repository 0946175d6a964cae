"""Scheduling of searches: each version is tried once, lost tasks are repeated, and stored verdicts are not
recomputed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

pytest.importorskip("distributed")

from autograd_conformance.campaigns.bisect import work
from autograd_conformance.campaigns.bisect.outcome import Trial
from autograd_conformance.campaigns.bisect.plan import Search, SearchPlan
from autograd_conformance.campaigns.bisect.search import Outcome
from autograd_conformance.campaigns.bisect.searches import Searches, StepEvent
from autograd_conformance.campaigns.bisect.step import FindingFiles, Step
from autograd_conformance.campaigns.bisect.work import StepDone, try_step
from autograd_conformance.campaigns.cluster.engine import Engine, TaskEnd
from autograd_conformance.campaigns.cluster.waiting import NoWorkers, Waiting
from autograd_conformance.campaigns.execution.progress import TRIES
from autograd_conformance.campaigns.ownership import OtherCampaign, claim_storage
from autograd_conformance.campaigns.shards.shard import Series
from autograd_conformance.campaigns.shards.work import TaskFailure
from autograd_conformance.campaigns.storage.storage import Storage, StorageError
from autograd_conformance.processes.child import Finished
from autograd_conformance.reporting.render.bisected import render_all
from tests.campaigns.test_campaign import SUITE, Here

OUTCOMES: dict[str, Outcome] = {"1": "good", "2": "bad", "3": "good", "4": "bad", "5": "bad"}
"""A finding that began, ended, and began again."""
SOUGHT = FindingFiles("gradients/op", (("finding.json", "{}"),))


def steps(sought: FindingFiles = SOUGHT, python: str = "/bin/sh") -> tuple[Step, ...]:
    return tuple(Step(sought, "a:X", "cpu", 20.0, label, python) for label in OUTCOMES)


PLAN = SearchPlan((Search(SOUGHT, "a:X", steps()),))


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(str(tmp_path / "kept"), pause=0.001)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The versions whose processes were started. The processes only write an outcome."""
    labels: list[str] = []

    def finished(words: Sequence[str], seconds: float | None) -> Finished:
        (out,) = (word.partition("=")[2] for word in words if word.startswith("--json="))
        assert Path(out).with_name("finding.json").read_text() == "{}"
        label = labels[-1]
        outcome = OUTCOMES[label]
        Path(out).write_text(json.dumps({"outcome": outcome, "said": "seen", "title": f"x {label}"}))
        return Finished(0, "", "")

    real = work._tried

    def tried(step: Step) -> Trial | TaskFailure:
        labels.append(step.label)
        return real(step)

    monkeypatch.setattr(work, "_tried", tried)
    monkeypatch.setattr(work, "finished", finished)
    return labels


def test_versions_for_which_no_worker_comes_are_reported(storage: Storage, started: list[str]) -> None:
    lacking = tuple(replace(step, resources={"GPU": 1.0}) if step.label == "5" else step for step in steps())
    searches = Searches(SearchPlan((Search(SOUGHT, "a:X", lacking),)), storage, SUITE, Waiting(limit=0.0))
    engine = Here(fate=lambda task, number: TaskEnd(task, "lost") if task == lacking[-1] else None)
    with pytest.raises(NoWorkers, match=r"^no worker offers GPU=1, and none arrived within 0 s$"):
        list(searches.run(cast(Engine, engine)))
    assert sorted(started) == ["1", "2", "3", "4"]
    assert searches.missing == "1 of 5 verdicts are missing"
    assert not engine.tasks, "what nobody can run is with the scheduler no more"


def carried_on(storage: Storage, engine: Here, plan: SearchPlan = PLAN) -> tuple[Searches, list[StepEvent]]:
    searches = Searches(plan, storage, SUITE)
    searches.resume()
    return searches, [came for came in searches.run(cast(Engine, engine)) if came is not None]


def test_every_change_is_reported_and_what_is_kept_is_not_tried_again(storage: Storage, started: list[str]) -> None:
    searches, came = carried_on(storage, Here())
    assert {each.step.label: each.trial and each.trial.outcome for each in came} == OUTCOMES
    (found,) = searches.results
    assert found.answer == "First bad: 2, last good: 1. Last bad: 2, first good: 3. First bad: 4, last good: 3."
    assert found.is_decided
    assert searches.missing is None
    page = render_all(list(searches.results), searches.missing)
    assert "| 4 | x 4 | bad | seen |" in page
    assert "Unfinished" not in page
    again, came = carried_on(storage, Here())
    assert (came, list(again.results)) == ([], [found])
    assert sorted(started) == ["1", "2", "3", "4", "5"]


def test_stored_verdicts_are_resumed_after_an_interruption(storage: Storage, started: list[str]) -> None:
    def stopped(task: object, number: int) -> Any:
        return KeyboardInterrupt() if number == 3 else None

    with pytest.raises(KeyboardInterrupt):
        carried_on(storage, Here(fate=stopped))
    searches = Searches(PLAN, storage, SUITE)
    assert searches.resume() == 3
    assert searches.missing == "2 of 5 verdicts are missing"
    assert "**Unfinished:** 2 of 5 verdicts are missing." in render_all(list(searches.results), searches.missing)
    _, came = carried_on(storage, Here())
    assert [each.step.label for each in came] == ["4", "5"]
    assert started == ["1", "2", "3", "4", "5"]


def test_a_step_that_its_scheduler_lost_is_begun_again(storage: Storage, started: list[str]) -> None:
    lost = iter([True])

    def fate(task: object, number: int) -> Any:
        return TaskEnd(task, "lost") if next(lost, False) else None

    searches, _ = carried_on(storage, Here(fate=fate))
    assert searches.missing is None
    assert sorted(started) == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize("answer", [TaskFailure("failed", "it broke", "one"), None], ids=["said", "killed its workers"])
def test_a_step_that_comes_to_nothing_is_tried_again_and_then_given_up(
    answer: TaskFailure | None, storage: Storage, started: list[str]
) -> None:
    def fate(task: object, number: int) -> Any:
        if not isinstance(task, Step) or task.label != "3":
            return None
        return answer or TaskEnd(task, "failed", reason="KilledWorker: it broke")

    engine = Here(fate=fate)
    searches, came = carried_on(storage, engine)
    assert [getattr(task, "label", None) for task in engine.begun].count("3") == TRIES
    (given_up,) = (each for each in came if each.trial is None)
    assert (given_up.step.label, "it broke" in given_up.reason) == ("3", True)
    (found,) = searches.results
    assert found.answer == "First bad: 2, last good: 1."
    assert "given up: " in render_all([found], searches.missing)
    _, came = carried_on(storage, Here())
    assert [each.step.label for each in came] == ["3"], "the next command tries it again"


def test_a_worker_without_the_environment_says_so(storage: Storage, started: list[str]) -> None:
    other = FindingFiles("another", (("finding.json", "{}"),), 2)
    plan = SearchPlan(tuple(Search(each, "a:X", steps(each, "/no/such/python")[:1]) for each in (SOUGHT, other)))
    engine = Here(newest=True)
    _, came = carried_on(storage, engine, plan)
    assert [each.trial for each in came] == [None, None]
    assert all(
        "the environment of 1 does not exist here: /no/such/python is missing (on " in each.reason for each in came
    )
    assert len(engine.begun) == TRIES + 1, "for the second finding it is known"
    assert not storage.names("verdicts")


def test_a_framework_that_could_not_be_loaded_is_tried_again_by_the_next_command(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "_tried", lambda step: Trial("skipped", "no module named x"))
    searches, came = carried_on(storage, Here())
    assert [each.trial and each.trial.outcome for each in came] == ["skipped"] * 5
    assert searches.missing is None
    assert not storage.names("verdicts")


def test_two_workers_that_try_one_step_agree(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    step = steps()[0]
    first = Trial("bad", "first", "x 1")

    def tried(step: Step) -> Trial:
        storage.create(step.name, step.written(first))
        return Trial("good", "second", "x 1")

    monkeypatch.setattr(work, "_tried", tried)
    found = try_step(step, storage, SUITE)
    assert isinstance(found, StepDone)
    assert found.trial == first


def test_a_process_that_says_nothing_is_no_verdict(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "finished", lambda *given: Finished(255, "", "it was stopped"))
    found = try_step(steps()[0], storage, SUITE)
    assert isinstance(found, TaskFailure)
    assert (found.kind, found.reason) == ("failed", "exit code 255: it was stopped")
    assert not storage.names("verdicts")


def test_a_worker_with_another_suite_tries_nothing(storage: Storage, started: list[str]) -> None:
    found = try_step(steps()[0], storage, "0" * 64)
    assert isinstance(found, TaskFailure)
    assert (found.kind, started) == ("other suite", [])


def test_a_damaged_verdict_is_reported(storage: Storage) -> None:
    storage.create(steps()[0].name, b"{}\n")
    with pytest.raises(StorageError, match=r"it does not hold a verdict; remove it, and the step is run again"):
        Searches(PLAN, storage, SUITE).resume()
    found = try_step(steps()[0], storage, SUITE)
    assert isinstance(found, TaskFailure)
    assert found.kind == "storage"
    with pytest.raises(StorageError, match=r"remove it"):
        list(Searches(PLAN, storage, SUITE).run(cast(Engine, Here())))


def test_a_storage_that_this_process_does_not_see_is_reported(
    storage: Storage, tmp_path: Path, started: list[str]
) -> None:
    elsewhere = Storage(str(tmp_path / "elsewhere"), pause=0.001)

    def fate(task: object, number: int) -> Any:
        assert isinstance(task, Step)
        return try_step(task, elsewhere, SUITE)

    with pytest.raises(
        StorageError, match=r"but this process does not find it; choose a storage that all workers share"
    ):
        carried_on(storage, Here(fate=fate))


def test_runs_and_searches_do_not_share_a_storage(storage: Storage) -> None:
    claim_storage(storage, ())
    claim_storage(storage, ())
    with pytest.raises(OtherCampaign, match=r"this plan runs a-x-"):
        claim_storage(storage, (Series("a:X", (), "both", "cpu", 1),))
