"""The recorder: a pytest plugin of the controlling process that writes the records of all tests.

Tests send their records with pytest's own reports, also through pytest-xdist. A worker that died sends nothing; its
journal, a file that the worker wrote, names the program that it was running.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from autograd_conformance.checking.counts.tally import Tally
from autograd_conformance.checking.session import Session
from autograd_conformance.checking.session.records import rule_records
from autograd_conformance.failures.confirmation.time_limit import confirm_process_end, undecided_text
from autograd_conformance.failures.record import crash_failure, describe_ending
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.plugin.pytest_internals import worker_of, worker_process
from autograd_conformance.plugin.recording.folder import ReportFolder, UnusableFolder, unusable
from autograd_conformance.plugin.recording.properties import ADAPTER, PROPERTY, SENT, TALLY, UNDECIDED, UNWRITABLE
from autograd_conformance.plugin.recording.record_buffer import RecordBuffer
from autograd_conformance.plugin.recording.run_end import RIGHT, RunEnd
from autograd_conformance.plugin.recording.run_state import RunState
from autograd_conformance.plugin.recording.terminal import leave_out, print_end
from autograd_conformance.plugin.recording.truncated_run import result_of
from autograd_conformance.plugin.run_plan import PLAN
from autograd_conformance.plugin.stopped import StoppedRun
from autograd_conformance.processes import guard, journal
from autograd_conformance.processes.supervision import status_within
from autograd_conformance.processes.termination import RunEnded, Termination, with_lines
from autograd_conformance.programs.foreign.text import harmless
from autograd_conformance.reporting.analysis.verdicts import ADAPTER_ERROR
from autograd_conformance.reporting.prose import counted, printable
from autograd_conformance.reporting.records.encoding import decode
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import Header, Record, Result
from autograd_conformance.reporting.render import text


class Recorder:
    """Writes `records.jsonl` during the run; at its end writes `report.md` and prints the summary."""

    def __init__(self, session: Session, header: Header, workers: int, keyboard: bool = True) -> None:
        self.session, self.header, self.workers = session, header, workers
        self.folder = ReportFolder(session.settings.folder)
        self.left = journal.pop(session.settings.folder, "main")
        self.folder.clear()
        try:
            writer = RecordBuffer(session.settings.folder / "records.jsonl")
        except OSError as error:
            raise unusable(session.settings.folder, error) from None
        self.termination = Termination(controls=True, keyboard=keyboard)
        guard.notify_parent(guard.BEGUN)
        self.run = RunState(session, writer, session.settings.folder / "report.md", self.termination)
        self.end = RunEnd(self.run)
        self.printed = False
        self.pluginmanager: Any = None
        writer.write(header)
        for rule in rule_records(session.framework):
            writer.write(rule)
        if writer.problem:
            raise UnusableFolder(f"no report can be written: {writer.problem}; name another with --report=DIR")

    def pytest_report_header(self) -> list[str]:
        """Returns lines about the tested framework, which pytest prints when the run begins."""
        about = f"{self.header.framework.title}, {counted(self.header.framework.ops, 'op')}"
        lines = [f"framework: {about}, report in {self.session.settings.folder}"]
        lines += [f"note: {note}" for note in self.header.notes]
        if not self.workers:
            lines.append("no worker (-n 0): a crash or a hang of the framework ends the run")
        if self.left:
            how = describe_ending(self.left, self.session.settings.timeout, None)
            failure = crash_failure(self.left, self.session, how)
            lines.append(
                f"the previous run with this report folder died; the program that it was running is in {failure.replay}"
            )
        return lines

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Keeps pytest's session, which knows the number of tests and can stop the run."""
        self.run.pytest_session = session

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Iterator[None]:
        """Writes the records in a test's report, and adds its counts to the run's. Then removes both from the report,
        which pytest keeps to the end of the run.
        """
        self._take(report)
        yield
        report.user_properties = [(name, value) for name, value in report.user_properties if name not in SENT]

    def _take(self, report: pytest.TestReport) -> None:
        if report.when not in ("setup", "call"):  # the last report of a test, or the only one if its process died
            self.run.ended_tests.add(report.nodeid)
        found: list[Record] = []
        for name, value in report.user_properties:
            if name == PROPERTY:
                found.append(decode(value))  # type: ignore[arg-type]
                self.run.write(found[-1])
            elif name == TALLY:
                self.run.tally.add(Tally.from_json(value))  # type: ignore[arg-type]
            elif name == ADAPTER:
                raise StoppedRun(f"adapter error: {value}", ADAPTER_ERROR)
            elif name == PLAN:
                self.run.deselected, self.run.whole = value["deselected"], value["whole"]  # type: ignore[index, call-overload]
            elif name == UNWRITABLE and self.run.writer.problem is None:
                self.run.writer.problem = str(value)
        leave_out(report, found)
        if self.run.writer.problem:
            self.run.stop(f"the report can no longer be written ({self.run.writer.problem})")

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: Any) -> None:
        """Writes the failure of a test whose worker died, as the journal names the program that the worker was
        running.
        """
        node = worker_of(report)
        worker = node.gateway.id
        entry = journal.pop(self.session.settings.folder, worker)
        if entry is None:
            self.run.write_unsent(worker)
            return
        status = _status(node)
        how = describe_ending(entry, self.session.settings.timeout, status)
        failure, is_undecided = self._killed(crash_failure(entry, self.session, how), status)
        result = result_of(entry, failure)
        if is_undecided:
            self._leave_undecided(replace(result, verdict=UNDECIDED, reason=undecided_text(failure)), report)
            return
        self.run.write(failure)
        self.run.write(result)
        report.longrepr = text.render(failure)
        leave_out(report, [failure, result])

    def _leave_undecided(self, result: Result, report: Any) -> None:
        """Writes the result of a test whose worker was killed for an unknown reason, which is no failure."""
        self.run.write(result)
        report.outcome = "skipped"
        report.longrepr = (str(report.location[0]), 0, f"{UNDECIDED}: {result.reason}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Notes why and with which exit code the user or the suite stops the run."""
        self.termination.acknowledge()
        excinfo.value.__cause__ = excinfo.value.__context__ = None
        excinfo.traceback = type(excinfo.traceback)(with_lines(excinfo.tb) or ())
        self.run.stop_code = getattr(excinfo.value, "returncode", None) or int(pytest.ExitCode.INTERRUPTED)
        if self.termination.over:
            self.run.cut_short = True
        if self.run.reason is None:
            signal = self.termination.received
            by_hand = "stopped from the keyboard" if signal in (None, "SIGINT") else f"ended by {signal}"
            own = isinstance(excinfo.value, RunEnded)
            reason = None if own else getattr(excinfo.value, "msg", None) or str(excinfo.value)
            self.run.reason = self.termination.over or reason or by_hand

    def pytest_internalerror(self, excinfo: pytest.ExceptionInfo[BaseException]) -> bool | None:
        """Notes the reason of an internal error. An unusable adapter is no error of the suite, and is printed on one
        line.
        """
        self.termination.acknowledge()
        error = excinfo.value
        if isinstance(error, AdapterError):
            self.run.reason, self.run.stop_code = f"adapter error: {error}", ADAPTER_ERROR
            print(self.run.reason)
            return True
        self.run.reason = self.run.reason or harmless(f"internal error: {excinfo.exconly()}", 300)
        return None

    @pytest.hookimpl(tryfirst=True)  # before pytest-xdist waits for its workers: the run may be ended during the wait
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Writes the end of the report and sets the exit code. Faulty ops that only the audit (which ran each op alone
        before the tests) found may also fail the run, and so may stale known differences in a strict run.
        """
        self.termination.acknowledge()
        session.exitstatus = self.end.finish(self.run.stop_code if self.run.stop_code == ADAPTER_ERROR else exitstatus)

    def pytest_unconfigure(self) -> None:
        """Writes the end of the report if the run was stopped before its session began, and releases the folder."""
        if not self.end.is_finished:
            self.end.finish(self.run.stop_code)
            self._print_end()
        self.termination.restore()
        self.run.parts.attempt("the folder", self.folder.remove_journals, None)
        self.folder.release()

    def _killed(self, failure: Failure, status: int | None) -> tuple[Failure, bool]:
        """Runs the program of a worker that died again in a fresh process. Returns the failure with the result, and
        True if it is undecided what ended the worker. Ends the run if the worker's framework differs from that of this
        process.
        """
        try:
            return confirm_process_end(failure, status, self.session)
        except AdapterError as error:
            self.run.stop_code, self.run.reason = ADAPTER_ERROR, f"adapter error: {error}"
            raise StoppedRun(self.run.reason, ADAPTER_ERROR) from None

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Prints each cause of failures once, instead of pytest's list of failures, and the summary."""
        self.printed = True
        before = len(self.run.parts.failed)
        page = None if self.run.writer.problem else self.run.page
        self.run.parts.attempt("the summary", lambda: print_end(terminalreporter, self.run.writer.report(), page), None)
        for line in self.run.known_update.lines():
            terminalreporter.write_line(printable(line))
        for problem in filter(None, [self.run.writer.problem, *dict.fromkeys(self.run.parts.failed)]):
            terminalreporter.write_line(f"The report is incomplete: {problem}", red=True, bold=True)
        session = self.run.pytest_session
        if len(self.run.parts.failed) > before and session is not None and session.exitstatus in RIGHT:
            session.exitstatus = self.run.parts.code

    def _print_end(self) -> None:
        """Prints the summary of a run that was stopped before its session began."""
        terminal = self.pluginmanager and self.pluginmanager.get_plugin("terminalreporter")
        if terminal is not None and not self.printed:
            self.pytest_terminal_summary(terminal)


def _status(node: Any) -> int | None:
    """Returns the exit code of a worker that died, or the negative number of the signal that ended the worker; None if
    neither is known.
    """
    process = worker_process(node)
    return None if process is None else status_within(process, 5)
