"""The state of a run in the controlling process: its counts so far, and the file to which its records are written."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from autograd_conformance.checking.audit.gating import NOTHING_WAITS
from autograd_conformance.checking.counts.tally import Tally
from autograd_conformance.checking.session import Session
from autograd_conformance.failures.interrupted import pending
from autograd_conformance.plugin.pytest_internals import stop_workers
from autograd_conformance.plugin.recording.known_update import Update
from autograd_conformance.plugin.recording.parts import Parts
from autograd_conformance.plugin.recording.record_buffer import RecordBuffer
from autograd_conformance.processes.termination import Termination
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import Record, Result
from autograd_conformance.rules.stages import stage_of


class RunState:
    """The counts of a run so far in the controlling process, and the file to which its records are written."""

    def __init__(self, session: Session, writer: RecordBuffer, page: Path, termination: Termination) -> None:
        self.session, self.writer, self.page, self.termination = session, writer, page, termination
        self.started = time.monotonic()
        self.pytest_session: pytest.Session | None = None
        self.stop_code = int(pytest.ExitCode.INTERNAL_ERROR)
        """Exit code of the run if it is stopped before its end."""
        self.reason: str | None = None
        """Why the run ended early, for the report; None if it did not."""
        self.parts = Parts()
        self.tests = self.programs = self.deselected = 0
        self.whole = False
        """Whether the collected tests are all tests of the suites, as the tests report."""
        self._cut: dict[str, Result] = {}
        """The results of tests that the budget cut short, by the tests' names: such a test may run again."""
        self.recorded: set[str] = set()
        """Names of the tests with a result."""
        self.ended_tests: set[str] = set()
        """Names of the tests that have ended, whether the suite's or not."""
        self.cut_short = False
        """Whether the end of the run's time ended a test that was running."""
        self.tally = Tally()
        self.exercised: set[tuple[str, str | None]] = set()
        """Pairs of a rule that a test exercised and the test's op; each pair is also there with None as its op."""
        self.known_update = Update()
        """The violations that were written to a file of known differences, and those that could not be written."""
        self.waiting = NOTHING_WAITS
        """The stages whose tests wait because a stage is wholly broken."""
        self.gates: dict[str, tuple[Record, ...]] = {}
        """The failure and the result of each wholly broken stage that no test has waited for yet."""
        self.failed_ops: set[str] = set()
        """Ops of the failures that tests found."""

    def write(self, record: Record) -> None:
        if isinstance(record, Failure) and record.op is not None:
            self.failed_ops.add(record.op)
        if isinstance(record, Result):
            if record.verdict == "waiting":
                self._write_gates(record)
            self.tests += record.test not in self.recorded
            self.recorded.add(record.test)
            self.programs += record.programs
            self.exercised.update((rule, op) for rule in record.exercised for op in (None, record.op))
            if (old := self._cut.pop(record.test, None)) is not None:
                record = merged(old, record)
                self.writer.replace(old, record)
            else:
                self.writer.write(record)
            if record.verdict == "cut short":
                self._cut[record.test] = record
            return
        self.writer.write(record)

    def _write_gates(self, waiting: Result) -> None:
        """Writes the failure of the wholly broken stage that a test waits for, unless it is written."""
        broken = self.waiting.stages[waiting.stage or stage_of(waiting.rule).name]
        for record in self.gates.pop(broken, ()):
            self.write(record)

    @property
    def is_cut_short(self) -> bool:
        """Returns whether the budget of programs, or of time, ended some test early."""
        return self.cut_short or bool(self._cut)

    def is_stopped(self) -> bool:
        """Returns whether the run was stopped, so that no more programs may run."""
        return self.termination.received is not None or self.session.process.is_late()

    def stop(self, reason: str) -> None:
        """Ends the run after the tests that are running now; `reason` is for the report."""
        assert self.pytest_session is not None
        self.reason = reason
        self.pytest_session.shouldstop = reason
        stop_workers(self.pytest_session.config, reason)

    def write_unsent(self, worker: str = "*") -> None:
        """Writes the failures that a worker, or any process, had found and not sent when it ended."""
        for record in pending.take(self.session.settings.folder, worker):
            if record.test not in self.recorded:  # type: ignore[union-attr]
                self.write(record)


def merged(old: Result, new: Result) -> Result:
    """Returns the result of a test that ran again from its beginning: the new one, with the programs and seconds of
    both. What exercised a rule is counted once.
    """
    return replace(
        new,
        programs=old.programs + new.programs,
        exercised=dict(Counter(old.exercised) | Counter(new.exercised)),
        left_open=old.left_open + new.left_open,
        instructions=old.instructions + new.instructions,
        judged=old.judged + new.judged,
        seconds=old.seconds + new.seconds,
    )
