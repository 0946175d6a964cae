"""The time that the tests leave is used for failures that were only counted."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from autograd_conformance.checking.limits import Limits
from autograd_conformance.checking.session import Session, Settings
from autograd_conformance.checking.session.records import rule_records
from autograd_conformance.failures import record
from autograd_conformance.plugin.recording import late_explanations
from autograd_conformance.plugin.recording.late_explanations import explain_late
from autograd_conformance.plugin.recording.record_buffer import RecordBuffer
from autograd_conformance.reporting.records.failure import Confirmation, Failure
from autograd_conformance.reporting.records.stream import load
from tests.failures.test_counted import NEGATIVE, Boxed, broken
from tests.reporting.miniatures import HEADER

BOXED = "tests.failures.test_counted:Boxed"
RERUN = Confirmation(runs=1, failed=1)


def session(folder: Path, seconds: float) -> Session:
    """A run whose time for explaining is used up, although time is left."""
    now = time.monotonic()
    made = Session.of(Settings(BOXED, folder, limits=Limits(None, now + seconds, now + seconds)))
    made.process.count_explaining(1e6)
    return made


def buffer(folder: Path, run: Session, *failures: Failure) -> RecordBuffer:
    made = RecordBuffer(folder / "records.jsonl")
    for each in (HEADER, *rule_records(run.framework), *failures):
        made.write(each)
    return made


@pytest.fixture(autouse=True)
def confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late_explanations, "confirm", lambda failure, session: replace(failure, alone=RERUN))


def test_a_counted_failure_is_explained_in_the_time_that_is_left(tmp_path: Path) -> None:
    run = session(tmp_path, 60.0)
    old = record.failure(broken(Boxed(), NEGATIVE), "t", run)
    assert old.counted and not old.why
    records = buffer(tmp_path, run, old)
    explain_late(run, records)
    (new,) = records.report().failures
    assert (new.counted, new.rule, new.op, new.test) == (False, old.rule, old.op, old.test)
    assert new.why and len(new.code.splitlines()) < len(old.code.splitlines())
    assert new.alone == RERUN
    records.write(old)
    assert load(tmp_path / "records.jsonl", allow_truncated=True).failures == (old, old)
    records.close()
    assert not list(tmp_path.glob("*.new"))
    assert load(tmp_path / "records.jsonl", allow_truncated=True).failures == (new, old)


def test_without_time_nothing_changes(tmp_path: Path) -> None:
    run = session(tmp_path, 60.0)
    old = record.failure(broken(Boxed(), NEGATIVE), "t", run)
    records = buffer(tmp_path, run, old)
    for limits in (replace(run.process.limits, deadline=time.monotonic()), Limits()):
        run.process.limits = limits
        explain_late(run, records)
        assert records.report().failures == (old,)


def test_a_program_that_breaks_another_rule_here_keeps_its_record(tmp_path: Path) -> None:
    run = session(tmp_path, 60.0)
    old = replace(record.failure(broken(Boxed(), NEGATIVE), "t", run), rule="gradients/op")
    records = buffer(tmp_path, run, old)
    explain_late(run, records)
    assert records.report().failures == (replace(old, alone=RERUN),)
