"""Every run writes its end: after signals, hangs that no watchdog detects, failed parts, and the time limit."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from autograd_conformance.checking.check import RuleViolated
from autograd_conformance.checking.limits import Limits
from autograd_conformance.checking.session import Session, Settings
from autograd_conformance.failures import record
from autograd_conformance.failures.interrupted import pending
from autograd_conformance.failures.record import unexplained
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.plugin.recording.parts import Parts
from autograd_conformance.processes import child, guard
from autograd_conformance.processes.journal import Journal, Observer, pop
from autograd_conformance.processes.timeouts import scaled_timeout
from autograd_conformance.programs.formats.text import parse
from autograd_conformance.reporting.records.records import Result
from autograd_conformance.reporting.render.text import render
from autograd_conformance.rules.relations.relation import Related
from tests.plugin.stops import FAULTY, stopped
from tests.plugin.test_cli import ONE, run, verdicts, written

UNRULY = "tests.frameworks.adapters.unruly"
SHORT = parse("a = leaf [1, 2]")


# -- parts -------------------------------------------------------------------------------------------------------------


def raising(error: BaseException) -> Callable[[], None]:
    def call() -> None:
        raise error

    return call


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (TypeError("must be real number, not complex"), 3, "TypeError: must be real number, not complex"),
        (KeyboardInterrupt(), 3, "KeyboardInterrupt: "),
        (SystemExit(0), 3, "SystemExit: 0"),
        (OSError(28, "No space left on device"), 3, "OSError: [Errno 28] No space left on device"),
        (AdapterError("tiny: read() gave None"), 10, "adapter error: tiny: read() gave None"),
        (ValueError("t\udce9\nx"), 3, r"ValueError: t\udce9 x"),
    ],
)
def test_a_part_that_fails_says_so_and_the_others_come(error, code, said):
    parts = Parts()
    assert parts.attempt("pages", raising(error), "instead") == "instead"
    assert parts.attempt("others", lambda: "right", "instead") == "right"
    assert (parts.code, parts.failed) == (code, [f"the part 'pages' of the report failed: {said}".strip()])


# -- what a process found ----------------------------------------------------------------------------------------------


def test_what_was_found_is_taken_once(tmp_path: Path):
    result = Result(test="t", rule="gradients/op", op="sin", verdict="fail", programs=1, seconds=0.0)
    pending.save(tmp_path, "gw0", result)
    pending.save(tmp_path, "gw1", result)
    pending.discard(tmp_path, "gw1")
    (tmp_path / "found-gw2").write_text('[{"rec')
    assert list(pending.take(tmp_path)) == [result]
    assert list(pending.take(tmp_path)) == []


@pytest.mark.parametrize("name", ["errors", "relations"])
def test_what_is_found_can_be_written_down_before_it_is_explained(name, tmp_path: Path):
    session = Session.of(Settings("tests.frameworks.adapters.faulty:Faulty", tmp_path))
    check = session.framework.check("gradients/op")
    failures = []
    check.on_violation = lambda broken: failures.append(unexplained(broken, "t", session))
    program = parse("a = leaf [1, 2]; b = tanh a; c = sum b dim=(0,) keepdim=False; backward c")
    other = parse("a = leaf [3, 4]; b = tanh a; c = sum b dim=(0,) keepdim=False; backward c")
    related = Related("relations/order", program, other, same=((2, 2),))
    with pytest.raises(RuleViolated):
        check(program if name == "errors" else related)
    pending.save(tmp_path, "gw0", *failures)
    assert [each.rule for each in pending.take(tmp_path)] == [each.rule for each in failures]  # type: ignore[union-attr]
    assert failures


@pytest.mark.parametrize("part", ["reduced", "with_confirmed_cause", "explain", "votes", "script", "flow"])
def test_a_violation_that_cannot_be_explained_is_recorded(part, tmp_path: Path, monkeypatch):
    def fails(*given: object, **named: object) -> None:
        raise TypeError("shapes (3, 1) and (2, 1)")

    session = Session.of(Settings("tests.frameworks.adapters.faulty:Faulty", tmp_path))
    check = session.framework.check("gradients/op")
    with pytest.raises(RuleViolated) as caught:
        check(parse("a = leaf [1, 2]; b = tanh a; c = sum b dim=(0,) keepdim=False; backward c"))
    monkeypatch.setattr(record, part, fails)
    found = record.failure(caught.value, "t", session)
    assert (found.rule, found.at, found.verdict) == ("gradients/graph", 3, "fail")
    assert [(step.line, step.text) for step in found.why] == [
        (
            4,
            "the suite failed to explain this; please report it to the suite: TypeError: shapes (3, 1) and (2, 1)",
        )
    ]
    assert Path(found.replay).exists()
    assert "the suite failed to explain this" in render(found)


# -- hangs -------------------------------------------------------------------------------------------------------------


def test_an_old_journal_is_a_hang_and_is_marked(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("autograd_conformance.processes.journal.GRACE", -4.9)
    monkeypatch.setattr("autograd_conformance.processes.journal.scaled_timeout", lambda seconds: seconds)
    journal, observer = Journal(tmp_path, "gw0"), Observer(tmp_path, "gw0", 0.1)
    try:
        assert not observer.mark_if_hung()
        journal.begin("t", "gradients/op", "sin")
        for _ in range(3):  # programs that come one after the other are no hang
            journal.write(SHORT)
            assert not observer.mark_if_hung()
            time.sleep(0.15)
        assert not Observer(tmp_path, "gw0", 0.1).mark_if_hung(), "it has not looked for long enough"
        time.sleep(0.15)
        assert observer.mark_if_hung()
        entry = pop(tmp_path, "gw0")
        assert entry is not None
        assert entry.timed_out
    finally:
        journal.end()


def test_nothing_that_runs_is_no_hang(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("autograd_conformance.processes.journal.GRACE", -4.9)
    journal, observer = Journal(tmp_path, "gw0"), Observer(tmp_path, "gw0", 0.0)
    journal.write(SHORT)
    journal.end()
    assert not observer.mark_if_hung()
    time.sleep(0.3)
    assert not observer.mark_if_hung()


# -- processes ---------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not guard.is_possible(), reason="needs Linux")
def test_a_child_that_hangs_is_ended_when_somebody_says_so(monkeypatch):
    monkeypatch.setattr(guard, "LOOK", 0.1)
    ended = guard.run_watched(lambda: time.sleep(100) or 0, lambda said: True)
    assert (ended.code, ended.status, ended.stopped) == (None, -signal.SIGKILL, False)


@pytest.mark.skipif(not guard.is_possible(), reason="needs Linux")
def test_a_child_that_closes_its_files_and_ends_is_no_riddle():
    def closes() -> int:
        os.closerange(3, 200)
        return 0

    ended = guard.run_watched(closes)
    assert (ended.code, ended.status) == (None, 0)


@pytest.mark.skipif(not guard.is_possible(), reason="needs Linux")
def test_a_child_can_say_that_its_files_were_closed():
    def says() -> int:
        guard.notify_parent(guard.CLOSED)
        return 10

    ended = guard.run_watched(says)
    assert (ended.code, ended.closed) == (10, True)
    assert not guard.run_watched(lambda: 0).closed


@pytest.mark.parametrize("deed", ["deaf", "blocked", "stopped"])
@pytest.mark.skipif(not guard.is_possible(), reason="needs Linux")
def test_a_child_that_does_not_react_to_a_signal_is_ended(deed):
    parent = os.getpid()

    def deaf() -> int:
        if deed == "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        else:
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        time.sleep(0.5)  # until the parent listens
        os.kill(parent, signal.SIGTERM)
        if deed == "stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(100)
        return 0

    began = time.monotonic()
    ended = guard.run_watched(deaf)
    assert (ended.code, ended.stopped) == (None, True)
    assert time.monotonic() - began < 0.5 + scaled_timeout(2.0)
    os.kill(os.getpid(), signal.SIGTERM)  # one that comes late is ignored
    time.sleep(0.1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def test_what_is_waited_for_ends_with_its_time():
    began = time.monotonic()
    with child.deadline(began + 0.5):
        first = child.finished([*child.PYTHON, "-c", "import time; time.sleep(100)"], None)
        second = child.finished([*child.PYTHON, "-c", "print(1)"], None)
    assert (first.code, second.code) == (None, None)
    assert time.monotonic() - began < 5
    assert child.finished([*child.PYTHON, "-c", "print(1)"], None).printed == "1\n"


@pytest.mark.parametrize("seconds", [1.0, 10.0, 60.0, 3600.0])
def test_a_limited_run_keeps_time_for_its_end(seconds):
    limits = Limits.of(None, seconds, 1000.0)
    assert limits.deadline is not None
    assert limits.last is not None
    assert 1000.0 < limits.deadline < limits.last < 1000.0 + seconds
    assert limits.deadline >= 1000.0 + min(seconds / 2, seconds - 60)
    assert Limits.of(7, None, 1000.0) == Limits(7)


# -- whole runs --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("signals", [[signal.SIGINT], [signal.SIGTERM] * 3, [signal.SIGINT, signal.SIGTERM]])
@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize("when", [8.0, "journal-*", "found-*", "replay/*.json"])
def test_a_run_that_is_stopped_ends_at_once_with_its_summary(signals, workers, when, tmp_path: Path):
    folder = tmp_path / "report"
    folder.mkdir()
    moment = when if isinstance(when, float) else folder / when
    seen = stopped(folder, moment, signals, "-n", workers, "--confirm=20")
    assert seen.problem is None, f"{seen.problem}: {seen.output}"


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_run_ends_in_its_time_however_many_failures_there_are(workers, tmp_path: Path):
    began = time.monotonic()
    seen = run(tmp_path, "-n", workers, "--seconds=40", "--confirm=20", framework=FAULTY)
    took = time.monotonic() - began
    assert seen.code == 1, seen.output
    assert took < 44 + scaled_timeout(3)
    assert seen.report.footer is not None
    assert seen.report.failures
    assert (tmp_path / "report.md").exists()
    assert "NOT CONFORMANT" in seen.output


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "1"])
@pytest.mark.parametrize("name", ["SwitchesWatchdogOff", "StopsItself", "BlocksAlarms"])
def test_a_hang_that_no_watchdog_of_its_process_sees_is_a_timeout(name, workers, tmp_path: Path):
    seen = run(tmp_path, ONE, "-n", workers, "--patience=2", framework=f"{UNRULY}:{name}")
    assert seen.code == 1, seen.output
    assert verdicts(seen.report) == {ONE: "timeout"}
    assert seen.failure.observed == "did not come back in time (2 s)"


@pytest.mark.slow
def test_a_replay_that_hangs_so_is_still_failing(tmp_path: Path):
    path = written(
        tmp_path / "twice.json", "a = leaf [1, 2]\nb = exp a\nbackward b with [1, 1]\nbackward b with [1, 1]"
    )
    seen = run(tmp_path, f"--replay={path}", "--patience=2", framework=f"{UNRULY}:SwitchesWatchdogOff")
    assert seen.code == 1
    assert seen.output.splitlines()[-1] == f"{path}: still failing (did not come back in time (2 s))"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ClosesEverything", "ClosesSome", "ClosesLater", "ClosesAllButItsPipe"])
@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_framework_that_closes_files_is_told_in_a_line(name, workers, tmp_path: Path):
    seen = run(tmp_path, ONE, "-n", workers, framework=f"{UNRULY}:{name}")
    assert seen.code in (1, 10), seen.output
    assert "Traceback" not in seen.output
    assert seen.code == 1 or "the framework closed file descriptors" in seen.output


@pytest.mark.slow
@pytest.mark.parametrize("part", ["Claims", "Coverage", "Page", "Summary"])
def test_a_part_of_the_end_that_fails_leaves_the_rest(part, tmp_path: Path):
    plugin = f"tests.frameworks.adapters.failing_parts.{part.lower()}"
    seen = run(tmp_path, "suites/test_articles.py", "-k", "test_claim", "-n", "1", "-p", plugin)
    assert seen.code == 3, seen.output
    assert "INTERNALERROR" not in seen.output
    assert "The report is incomplete: the part" in seen.output
    assert seen.report.footer is not None
    assert seen.report.results
