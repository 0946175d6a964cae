"""The recorder: a pytest plugin of the controlling process that turns what tests report into the stream of records.

Tests send their records with pytest's own reports, which cross pytest-xdist; a worker that died sends nothing, and is
read from its journal instead.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import pytest

from autograd_conformance.checking.audit.outcome import Fault
from autograd_conformance.checking.check import is_advice
from autograd_conformance.checking.counts.tally import Tally
from autograd_conformance.checking.session import ADAPTER_ERROR, REPORT_ERROR, Session, now, rule_records
from autograd_conformance.claims.records import claim_records, limited_case_runner
from autograd_conformance.failures.confirmation.time_limit import confirm, confirm_process_end, undecided_text
from autograd_conformance.failures.interrupted import pending
from autograd_conformance.failures.record import audit_failure, crash_failure, describe_ending
from autograd_conformance.frameworks.registry import AdapterError
from autograd_conformance.known_differences import Known as Entry
from autograd_conformance.plugin.recording.folder import ReportFolder, UnusableFolder, unusable
from autograd_conformance.plugin.recording.known_update import Update, update
from autograd_conformance.plugin.recording.parts import Parts
from autograd_conformance.plugin.recording.record_buffer import RecordBuffer
from autograd_conformance.plugin.recording.terminal import leave_out, print_end
from autograd_conformance.plugin.recording.truncated_run import result_of
from autograd_conformance.plugin.run_plan import PLAN
from autograd_conformance.plugin.stopped import StoppedRun
from autograd_conformance.processes import guard, journal
from autograd_conformance.processes.termination import Termination, with_lines
from autograd_conformance.programs.foreign.text import harmless
from autograd_conformance.reporting.analysis.differences import entries
from autograd_conformance.reporting.analysis.summary import exit_code, summarize
from autograd_conformance.reporting.prose import counted, printable
from autograd_conformance.reporting.records.encoding import decode
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import Footer, Header, KnownRecord, Record, Result
from autograd_conformance.reporting.render import text

PROPERTY = "conformance"
"""The user property under which tests send their records."""

TALLY = "conformance tally"
"""The user property under which a test sends its counts."""

ADAPTER = "conformance adapter error"
"""The user property under which a test says that the adapter cannot be used, which ends the run."""
UNWRITABLE = "conformance unwritable"
"""The user property under which a test says what its process could not write to the report's folder."""

SENT = frozenset((PROPERTY, TALLY, ADAPTER, UNWRITABLE, PLAN))
"""All user properties under which a test sends something to the controlling process."""

RIGHT = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
"""Pytest's exit codes for sessions in which nothing is wrong."""

ENDS = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
"""Pytest's exit codes for sessions that nobody stopped."""


class Recorder:
    """Writes `records.jsonl` as the run goes on, and the pages made from it at the end."""

    def __init__(self, session: Session, header: Header, workers: int, keyboard: bool = True) -> None:
        self.session, self.header, self.workers = session, header, workers
        self.path = session.folder / "records.jsonl"
        self.page = session.folder / "report.md"
        self.folder = ReportFolder(session.folder)
        self.left = journal.pop(session.folder, "main")
        self.folder.clear()
        try:
            self.writer = RecordBuffer(self.path)
        except OSError as error:
            raise unusable(session.folder, error) from None
        self.termination = Termination(controls=True, keyboard=keyboard)
        guard.notify_parent(guard.BEGUN)
        self.started = time.monotonic()
        self.running: pytest.Session | None = None
        self.stopped = int(pytest.ExitCode.INTERNAL_ERROR)
        self.reason: str | None = None
        self.finished = self.printed = False
        self.pluginmanager: Any = None
        self.parts = Parts()
        self.tests = self.programs = self.deselected = 0
        self.whole = False
        """Whether the tests that were collected are all there are, as soon as one of them has said so."""
        self.recorded: set[str] = set()
        """The tests of which there is a result."""
        self.ended: set[str] = set()
        """The tests that have ended, of whatever kind they are."""
        self.cut_short = False
        """Whether the budget ended a test before its time."""
        self.tally = Tally()
        self.exercised: set[tuple[str, str | None]] = set()
        """The rules that tests have exercised, by themselves and with the op that the test was about."""
        self.updated = Update()
        """What was written into a file of known differences."""
        self.failed_ops: set[str] = set()
        """The ops that some test has shown to be wrong."""
        self.writer.write(header)
        for rule in rule_records(session):
            self.writer.write(rule)
        if self.writer.problem:
            raise UnusableFolder(f"no report can be written: {self.writer.problem}; name another with --report=DIR")

    # -- pytest's hooks ------------------------------------------------------------------------------------------------

    def pytest_report_header(self) -> list[str]:
        """What is under test, above the progress line."""
        target = self.session.target
        about = f"{self.header.framework.title}, {len(target.ops)} ops"
        lines = [f"framework: {about}, report in {self.session.folder}"]
        lines += [f"note: {note}" for note in self.header.notes]
        if not self.workers:
            lines.append("without a worker (-n 0): a crash or a hang of the framework ends the run")
        if self.left:
            failure = crash_failure(self.left, self.session, describe_ending(self.left, self.session.timeout, None))
            lines.append(f"the last run here died while running the program that is now in {failure.replay}")
        return lines

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Pytest's session, which is asked later for how many tests it has, and told to stop."""
        self.running = session

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Iterator[None]:
        """Write the records that came with a test's report, and add up its counts; once all have read the report, which
        pytest keeps to the end of the run, it is without them.
        """
        self._take(report)
        yield
        report.user_properties = [(name, value) for name, value in report.user_properties if name not in SENT]

    def _take(self, report: pytest.TestReport) -> None:
        if report.when not in ("setup", "call"):  # the last report of a test, or the only one of a process that died
            self.ended.add(report.nodeid)
        found: list[Record] = []
        for name, value in report.user_properties:
            if name == PROPERTY:
                found.append(decode(value))  # type: ignore[arg-type]
                self._write(found[-1])
            elif name == TALLY:
                self.tally.add(Tally.from_json(value))  # type: ignore[arg-type]
            elif name == ADAPTER:
                raise StoppedRun(f"adapter error: {value}", ADAPTER_ERROR)
            elif name == PLAN:
                self.deselected, self.whole = value["deselected"], value["whole"]  # type: ignore[index, call-overload]
            elif name == UNWRITABLE and self.writer.problem is None:
                self.writer.problem = str(value)
        leave_out(report, found)
        if self.writer.problem:
            self._stop(f"the report cannot be written any more ({self.writer.problem})")

    def _stop(self, reason: str) -> None:
        """End the run in good order after the tests that are running."""
        assert self.running is not None
        self.reason = reason
        self.running.shouldstop = reason
        workers = self.running.config.pluginmanager.get_plugin("dsession")
        if workers is not None:  # pytest-xdist does not look at the session
            workers.shouldstop = reason

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: Any) -> None:
        """A worker died: its journal says in which program."""
        worker = report.node.gateway.id
        entry = journal.pop(self.session.folder, worker)
        if entry is None:
            self._write_found(worker)
            return
        status = _status(report.node)
        how = describe_ending(entry, self.session.timeout, status)
        failure, is_undecided = self._killed(crash_failure(entry, self.session, how), status)
        result = result_of(entry, failure)
        if is_undecided:
            self._leave_undecided(replace(result, verdict="cannot be told", reason=undecided_text(failure)), report)
            return
        self._write(failure)
        self._write(result)
        report.longrepr = text.render(failure)
        leave_out(report, [failure, result])

    def _leave_undecided(self, result: Result, report: Any) -> None:
        """Write the result of a test whose worker was killed, nobody knows by whom: that is no failure."""
        self._write(result)
        report.outcome = "skipped"
        report.longrepr = (str(report.location[0]), 0, f"cannot be told: {result.reason}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Keep the exit code of a run that is stopped: by the keyboard, or by the suite itself."""
        self.termination.acknowledge()
        excinfo.value.__cause__ = excinfo.value.__context__ = None
        excinfo.traceback = type(excinfo.traceback)(with_lines(excinfo.tb) or ())
        self.stopped = getattr(excinfo.value, "returncode", None) or int(pytest.ExitCode.INTERRUPTED)
        if self.termination.over:
            self.cut_short = True
        if self.reason is None:
            signal = self.termination.received
            by_hand = "stopped from the keyboard" if signal in (None, "SIGINT") else f"ended by {signal}"
            said = getattr(excinfo.value, "msg", None) or str(excinfo.value)
            self.reason = self.termination.over or said or by_hand

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> bool | None:
        """Say in one line why the run cannot go on; an adapter that cannot be used is no error of the suite."""
        self.termination.acknowledge()
        error = excinfo.value
        if isinstance(error, AdapterError):
            self.reason, self.stopped = f"adapter error: {error}", ADAPTER_ERROR
            print(self.reason)
            return True
        self.reason = self.reason or harmless(f"internal error: {excinfo.exconly()}", 300)
        return None

    @pytest.hookimpl(tryfirst=True)  # before pytest-xdist waits for its workers: whoever ends the run may not wait
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """The run ends; what the audit alone has found fails it, too, and, where it is strict, a known difference that
        is seen no longer.
        """
        self.termination.acknowledge()
        session.exitstatus = self._finish(self.stopped if self.stopped == ADAPTER_ERROR else exitstatus)

    def pytest_unconfigure(self) -> None:
        """The process ends; a run that was stopped before its session began had no other end."""
        if not self.finished:
            self._finish(self.stopped)
            self._print_end()
        self.termination.restore()
        self.parts.attempt("the folder", self.folder.remove_journals, None)
        self.folder.release()

    def _write_audited(self) -> bool:
        """Write what the audit found wrong and no test has shown, and say whether there was anything: a test of the op
        may have been left out, or cannot be drawn without it.
        """
        shown = self.failed_ops | {each.about.op for each in self.tally.findings}
        faults = [(op, fault) for op, fault in self.session.audited.faults.items() if op not in shown]
        name = "faults that the audit found"
        failing = [self.parts.attempt(name, partial(self._write_fault, op, fault), True) for op, fault in faults]
        return any(failing)

    def _write_fault(self, op: str, fault: Fault) -> bool:
        """Write a fault that the audit found, unless it is known, and say whether it fails the run."""
        if op in {entry.op for entry in self.session.known} and (
            fault.at is None or self._is_stopped() or self.session.knows(fault.program)
        ):
            return False
        failure = audit_failure(op, fault, self.session)
        if not self._is_stopped():
            failure = confirm(failure, self.session)
        self.writer.write(failure)
        result = Result(
            test=failure.test,
            rule=failure.rule,
            op=op,
            verdict=failure.verdict,
            programs=1,
            exercised={failure.rule: 1},
            seconds=0.0,
        )
        self._write(result)
        return self.session.strict or not is_advice(fault.rule)

    def _is_stopped(self) -> bool:
        """Whether the run was stopped, and nothing is to be run any more."""
        return self.termination.received is not None or self.session.is_late()

    def _killed(self, failure: Failure, status: int | None) -> tuple[Failure, bool]:
        """The failure of a worker that died, run again, and whether it cannot be told who ended it; the end of the run
        where it is another framework that runs there.
        """
        try:
            return confirm_process_end(failure, status, self.session)
        except AdapterError as error:
            self.stopped, self.reason = ADAPTER_ERROR, f"adapter error: {error}"
            raise StoppedRun(self.reason, ADAPTER_ERROR) from None

    def _update(self) -> bool:
        """Write what is broken into the file of known differences, and say whether something is not written there that
        fails the run.
        """
        if self.session.update is None:
            return False
        findings, common = self.tally.findings, self.tally.common
        self.updated = update(self.session.update, findings, common, self.session, now()[:10])
        for each in self.updated.unwritten:
            for record in each.records():
                self._write(record)
        return any(each.fails for each in self.updated.unwritten)

    def _finish(self, exitstatus: int) -> int:
        """Write the known differences and the footer, then the page, once; returns the exit code of the run. Each part
        may fail by itself.
        """
        if self.finished:
            return exitstatus
        self.finished = True
        attempt = self.parts.attempt
        attempt("failures that were not sent", self._write_found, None)
        if self.termination.over and self._has_failed():
            exitstatus = int(pytest.ExitCode.TESTS_FAILED)
        if attempt("faults that the audit found", self._write_audited, False) and exitstatus in RIGHT:
            exitstatus = pytest.ExitCode.TESTS_FAILED
        if attempt("the file of known differences", self._update, False) and exitstatus in RIGHT:
            exitstatus = pytest.ExitCode.TESTS_FAILED
        with self._journaled():
            attempt("known differences", self._write_known, None)
            attempt("claims of articles", self._write_claims, None)
        attempt("coverage", self._write_coverage, None)
        stale = self.session.strict and attempt("stale known differences", self._has_stale, False)
        if stale and exitstatus == pytest.ExitCode.OK:
            exitstatus = int(pytest.ExitCode.TESTS_FAILED)
        footer = attempt("the end", lambda: self._footer(exitstatus), None) or self._least_footer(exitstatus)
        footer = self._with_failed_parts(footer)
        self.writer.write(footer)
        self.writer.close()
        attempt("the page", lambda: self.writer.write_page(self.page), None)
        code = REPORT_ERROR if self.writer.problem else footer.exit_code
        return self.parts.code if code in RIGHT and self.parts.code else code

    def _write_found(self, worker: str = "*") -> None:
        """Write what workers found that were ended before they sent it."""
        for record in pending.take(self.session.folder, worker):
            if record.test not in self.recorded:  # type: ignore[union-attr]
                self._write(record)

    def _has_failed(self) -> bool:
        """Whether a failure was written that fails the run."""
        failures = [each for each in self.writer.records if isinstance(each, Failure)]
        return any(self.session.strict or not is_advice(each.rule) for each in failures)

    @contextmanager
    def _journaled(self) -> Iterator[None]:
        """Write down the programs that are run at the end, as a test's are: one may hang, or end the process."""
        if self._is_stopped():
            yield
            return
        folder, worker = self.session.folder, self.session.worker
        own = self.parts.attempt("the journal", lambda: journal.Journal(folder, worker, self.session.watchdog), None)
        if own is None:
            yield
            return
        own.begin("the end of the run", "errors/legal-returns", None)
        self.session.journal = own
        try:
            yield
        finally:
            self.session.journal = None
            self.parts.attempt("the journal", own.close, None)

    def _write_known(self) -> None:
        """Write the known differences, each with how often it was seen."""
        for number, entry in enumerate(self.session.known):
            seen = self.tally.differences[number]
            if entry.inherited and not seen:
                continue
            asked = (entry.rule, entry.op) in self.exercised  # else the run says nothing of it
            if not seen and asked and not self._is_stopped():
                seen = int(self.parts.attempt("witnesses of known differences", partial(self._shows, entry), False))
            about = {name: getattr(entry, name) for name in ("rule", "op", "reason", "link", "since")}
            self.writer.write(KnownRecord(**about, seen=seen, ended=self.tally.ended[number]))
        for new in self.updated.written:
            self.writer.write(KnownRecord(rule=new.about.rule, op=new.about.op, reason=new.observed, seen=new.seen))

    def _shows(self, entry: Entry) -> bool:
        return self.session.is_shown(entry)

    def _write_claims(self) -> None:
        """Write what the framework showed of the articles' claims."""
        if self.tally.articles:
            target = self.session.target
            observe = limited_case_runner(target, lambda: not self._is_stopped())
            for claim in claim_records(self.tally.articles, target.dialect, observe):
                self.writer.write(claim)

    def _write_coverage(self) -> None:
        """Write which situations came up, and what the framework chose where the rules leave a choice."""
        for each in self.tally.coverage():
            self.writer.write(each)
        for behaviour in self.tally.behaviours():
            self.writer.write(behaviour)

    def _has_stale(self) -> bool:
        return any(each.stale for each in entries(self.writer.report()))

    def _least_footer(self, exitstatus: int) -> Footer:
        """A footer that says no more than that the run ended."""
        return Footer(
            verdict="interrupted",
            finished=now(),
            seconds=round(time.monotonic() - self.started, 2),
            tests=self.tests,
            programs=self.programs,
            exit_code=int(exitstatus),
            reason=self.reason,
        )

    def _with_failed_parts(self, footer: Footer) -> Footer:
        """The footer of a run some of whose parts failed: it is not whole, and no good run."""
        if not self.parts.failed:
            return footer
        reason = "; ".join(filter(None, [footer.reason, *dict.fromkeys(self.parts.failed)]))
        code = self.parts.code if footer.exit_code in RIGHT else footer.exit_code
        return replace(footer, verdict="interrupted", reason=reason, exit_code=code)

    def _footer(self, exitstatus: int) -> Footer:
        """How the run ended: pytest's exit code says less where a limit of failures or the budget ended it."""
        session = self.running
        not_run = max(0, session.testscollected - len(self.ended)) if session else 0
        limit = session.config.option.maxfail if session else 0
        if session and limit and session.testsfailed >= limit:
            exitstatus = pytest.ExitCode.TESTS_FAILED  # with workers, too
            self.reason = f"stopped after {counted(session.testsfailed, 'failure')}, as asked" if not_run else None
        verdict: Literal["complete", "cut short", "interrupted"] = "complete"
        if not_run or exitstatus not in ENDS:
            verdict = "interrupted"
        elif self.cut_short:
            verdict = "cut short"
            self.reason = "the run's budget (--programs or --seconds) ended"
        footer = replace(
            self._least_footer(exitstatus),
            verdict=verdict,
            not_run=not_run,
            deselected=self.deselected,
            missing_ops=tuple(sorted(self.session.audited.missing)),
            notes=tuple(self.tally.remarks.lines()),
            selection=not self.whole,
        )
        summary = summarize(replace(self.writer.report(), footer=footer))
        return replace(footer, exit_code=exit_code(summary, footer, int(exitstatus)))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Each cause of failures once, in the place of pytest's list, and the run on one screen."""
        self.printed = True
        before = len(self.parts.failed)
        page = None if self.writer.problem else self.page
        self.parts.attempt("the summary", lambda: print_end(terminalreporter, self.writer.report(), page), None)
        for line in self.updated.lines():
            terminalreporter.write_line(printable(line))
        for problem in filter(None, [self.writer.problem, *dict.fromkeys(self.parts.failed)]):
            terminalreporter.write_line(f"The report is not whole: {problem}", red=True, bold=True)
        session = self.running
        if len(self.parts.failed) > before and session is not None and session.exitstatus in RIGHT:
            session.exitstatus = self.parts.code

    def _print_end(self) -> None:
        """Print the summary of a run that was stopped before its session began."""
        terminal = self.pluginmanager and self.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None and not self.printed:
            self.pytest_terminal_summary(terminal)

    # -- records -------------------------------------------------------------------------------------------------------

    def _write(self, record: Record) -> None:
        if isinstance(record, Failure) and record.op is not None:
            self.failed_ops.add(record.op)
        if isinstance(record, Result):
            self.cut_short |= record.verdict == "cut short"
            self.recorded.add(record.test)
            self.tests += 1
            self.programs += record.programs
            self.exercised.update((rule, op) for rule in record.exercised for op in (None, record.op))
        self.writer.write(record)


def _status(node: Any) -> int | None:
    """The exit code of a worker that died, or the signal that ended it with a minus sign."""
    process = getattr(getattr(node.gateway, "_io", None), "popen", None)
    try:
        return None if process is None else process.wait(5)
    except subprocess.TimeoutExpired:
        return None
