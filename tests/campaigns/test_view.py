"""The display of a campaign: a table on a terminal, lines elsewhere, and new causes as they are found."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

pytest.importorskip("distributed")

from rich.console import Console

from autograd_conformance.campaigns.cluster.engine import Engine
from autograd_conformance.campaigns.execution.campaign import Campaign
from autograd_conformance.campaigns.execution.events import NewCause, Replayed, Trouble
from autograd_conformance.campaigns.execution.view import View
from autograd_conformance.campaigns.plans.plan import Amount, Plan
from autograd_conformance.campaigns.shards.shard import Series, Shard
from autograd_conformance.campaigns.shards.work import ReplayResult
from autograd_conformance.campaigns.storage.storage import Storage
from autograd_conformance.reporting.analysis.causes import Cause
from tests.campaigns import quick
from tests.campaigns.test_campaign import SUITE
from tests.reporting.miniatures import FAILURE, HEADER

SERIES = Series("a:X", (), "both", "cpu", 30)


class Cluster:
    """Two workers, of which one offers a GPU."""

    workers: Mapping[str, object] = {"one": {}, "other": {}}
    dashboard = "http://127.0.0.1:8787/status"

    def capacity(self, resources: Mapping[str, float]) -> int:
        return 1 if resources.get("GPU", 0) <= 1 else 0


def viewed(folder: Path, amount: Amount, series: Series = SERIES, terminal: bool = True) -> tuple[View, io.StringIO]:
    """The display of a campaign in which seeds 4 and 5 are done and 6 is running."""
    storage, out = Storage(str(folder / "kept")), io.StringIO()
    campaign = Campaign(Plan((series,), amount), storage, SUITE)
    view = View(
        campaign, cast(Engine, Cluster()), Console(file=out, force_terminal=terminal, width=140, color_system=None)
    )
    for seed in (4, 5):
        quick.run(Shard(series, seed), storage, SUITE)
    list(campaign.resume())
    campaign.progress[0].running.add(6)
    return view, out


@pytest.fixture(autouse=True)
def without_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick.work, "_run_process", quick.work._run_process)  # `quick.run` replaces it


def test_the_table_says_how_far_each_series_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    view, out = viewed(tmp_path, Amount(1, 10))
    monkeypatch.setattr("time.monotonic", lambda: view.begun + 10.0)  # drawing it takes a while, too
    view.console.print(view.table())
    head, names, row, line = (" ".join(each.split()) for each in out.getvalue().splitlines())
    assert head == f"{tmp_path / 'kept'}, 2 workers, http://127.0.0.1:8787/status"
    assert names == "series shards running programs a second failing"
    assert row == "a:X 2 of 10 1 27 14 1"
    assert line == (
        "2 of 10 shards, 1 running; 27 programs, 3 a second; 1 cause of failures; 0 rules tested, 0 cells of "
        "coverage; about 40 s left"
    )


def test_amounts_of_programs_and_of_time_have_ends_of_their_own(tmp_path: Path) -> None:
    view, _ = viewed(tmp_path, Amount(programs=54))
    assert view.seconds_left(10.0) == 10.0
    assert "27 (50%)" in view._cells(view.campaign.progress[0])
    view.campaign.plan = replace(view.campaign.plan, amount=Amount(hours=2))
    view.campaign.time_limit.deadline = 0.0
    assert view.seconds_left(10.0) == 0.0


def test_what_waits_for_workers_is_reported(tmp_path: Path) -> None:
    waiting = viewed(tmp_path, Amount(1, 10), replace(SERIES, resources={"GPU": 2.0}))[0].line()
    assert waiting.endswith("; waiting for workers that offer GPU=2")
    assert "waiting" not in viewed(tmp_path, Amount(1, 10), replace(SERIES, resources={"GPU": 1.0}))[0].line()


@pytest.mark.parametrize("terminal", [True, False])
def test_what_happens_is_reported_as_it_happens(tmp_path: Path, terminal: bool) -> None:
    view, out = viewed(tmp_path, Amount(1, 10), terminal=terminal)
    with view.display():
        for event in (
            NewCause(Cause((FAILURE,)), HEADER),
            Replayed(FAILURE, ReplayResult("fixed", "")),
            Trouble("a:X, seed 3: given up [bold]"),
            None,
        ):
            view.report(event)
    said = out.getvalue()
    assert "new: toytorch 1.2: lifetime/same-root-raises: silently wrong: returned; a.grad is [8.0]" in said
    assert "replayed: lifetime/same-root-raises: did not fail" in said
    assert "given up [bold]" in said, "no markup of a framework's is followed"
    assert ("shards" in said) == terminal
    assert f"{tmp_path / 'kept'}, 2 workers" in said, "at once, wherever it is shown"
