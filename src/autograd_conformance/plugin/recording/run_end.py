"""Writes the end of a run's report: the records of known differences, claims of articles and coverage, the footer (the
last record) and the page `report.md`.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Literal

import pytest

from autograd_conformance.checking.audit.outcome import Fault
from autograd_conformance.checking.check import is_advice
from autograd_conformance.checking.session.records import known_record, now
from autograd_conformance.claims.records import claim_records, limited_case_runner
from autograd_conformance.failures.audited import audit_failure
from autograd_conformance.failures.confirmation.time_limit import confirm
from autograd_conformance.known_differences import Known as Entry
from autograd_conformance.plugin.recording.audit_notes import audit_notes
from autograd_conformance.plugin.recording.known_update import update
from autograd_conformance.plugin.recording.late_explanations import explain_late
from autograd_conformance.plugin.recording.properties import UNDECIDED
from autograd_conformance.plugin.recording.run_state import RunState
from autograd_conformance.processes import journal
from autograd_conformance.programs import slugs
from autograd_conformance.reporting.analysis.differences import entries
from autograd_conformance.reporting.analysis.signature_keys import key_of, signature_key
from autograd_conformance.reporting.analysis.summary import exit_code, summarize
from autograd_conformance.reporting.analysis.verdicts import REPORT_ERROR, Exit
from autograd_conformance.reporting.prose import counted
from autograd_conformance.reporting.records.failure import Failure
from autograd_conformance.reporting.records.records import Footer, KnownRecord, Result

RIGHT = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED, Exit.NO_VERDICT)
"""The exit codes of runs in which nothing failed."""

ENDS = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
"""Pytest's exit codes of sessions that ran to their end."""


class RunEnd:
    """Writes the last records of a run, and its page `report.md`."""

    def __init__(self, run: RunState) -> None:
        self.run = run
        self.is_finished = False

    def finish(self, exitstatus: int) -> int:
        """Writes the last records and the page `report.md`, the first time that it is called, and returns the exit code
        of the run. Each part may fail without the others.
        """
        if self.is_finished:
            return exitstatus
        self.is_finished = True
        attempt = self.run.parts.attempt
        attempt("failures that were not sent", self.run.write_unsent, None)
        if self.run.termination.over and self._has_failed():
            exitstatus = int(pytest.ExitCode.TESTS_FAILED)
        attempt("ops that pass alone", self._write_undecided, None)
        if attempt("faults that the audit found", self._write_audited, False) and exitstatus in RIGHT:
            exitstatus = pytest.ExitCode.TESTS_FAILED
        if attempt("the file of known differences", self._update, False) and exitstatus in RIGHT:
            exitstatus = pytest.ExitCode.TESTS_FAILED
        with self._journaled():
            if exitstatus in ENDS:
                attempt("explanations", lambda: explain_late(self.run.session, self.run.writer), None)
            attempt("known differences", self._write_known, None)
            attempt("claims of articles", self._write_claims, None)
        attempt("coverage", self._write_coverage, None)
        stale = self.run.session.settings.strict and attempt("stale known differences", self._has_stale, False)
        if stale and exitstatus == pytest.ExitCode.OK:
            exitstatus = int(pytest.ExitCode.TESTS_FAILED)
        footer = attempt("the end", lambda: self._footer(exitstatus), None) or self._least_footer(exitstatus)
        footer = self._with_failed_parts(footer)
        self.run.writer.write(footer)
        self.run.writer.close()
        articles = self.run.session.settings.articles
        attempt("the page", lambda: self.run.writer.write_page(self.run.page, articles), None)
        code = REPORT_ERROR if self.run.writer.problem else footer.exit_code
        return self.run.parts.code if code in RIGHT and self.run.parts.code else code

    def _write_audited(self) -> bool:
        """Writes the faulty ops that the audit (which runs each op alone before the tests) found and no test has shown,
        since the op's test may be deselected or impossible without the op. Returns whether one of the faults fails the
        run.
        """
        shown = self.run.failed_ops | {each.signature.op for each in self.run.tally.findings}
        faults = [(op, fault) for op, fault in self._faults() if op not in shown]
        name = "faults that the audit found"
        failing = [self.run.parts.attempt(name, partial(self._write_fault, op, fault), True) for op, fault in faults]
        return any(failing)

    def _write_undecided(self) -> None:
        """Writes a result for each op that went wrong in the audit but is not blamed, because it passes alone."""
        for op, each in self.run.session.framework.audited.undecided.items():
            if each.fault.rule in self.run.session.settings.skips.rules:
                continue
            result = Result(
                test=f"audit[{op}]",
                rule=each.fault.rule,
                op=op,
                verdict=UNDECIDED,
                reason=each.why,
                programs=1,
                exercised={each.fault.rule: 1},
                seconds=0.0,
            )
            self.run.write(result)

    def _faults(self) -> list[tuple[str, Fault]]:
        """Returns the faults that the audit found, with their ops, without those of rules that the user skips."""
        skipped = self.run.session.settings.skips.rules
        faults = self.run.session.framework.audited.faults
        return [(op, fault) for op, fault in faults.items() if fault.rule not in skipped]

    def _is_shown(self, cause: Hashable | None) -> bool:
        """Whether the report has a failure with the same cause; False for None, an unknown cause."""
        written = (each for each in self.run.writer.records if isinstance(each, Failure) and not each.counted)
        return cause is not None and cause in map(signature_key, written)

    def _write_fault(self, op: str, fault: Fault) -> bool:
        """Writes a faulty op that the audit found when the op ran alone, unless a known difference covers the fault.
        Returns whether the fault fails the run.
        """
        if op in {entry.op for entry in self.run.session.framework.known} and (
            fault.at is None or self.run.is_stopped() or self.run.session.framework.run_covered(fault.program)
        ):
            return False
        again = None
        is_shown = self._is_shown(key_of(fault.rule, op, "fail", fault.deviation, fault.signature))
        if fault.at is not None and not is_shown and not self.run.is_stopped():
            run = partial(self.run.session.framework.violated_by, fault.program)
            again = self.run.parts.attempt("faults that the audit found", run, None)
        failure = audit_failure(op, fault, self.run.session, again)
        if is_shown:
            failure = replace(failure, counted=True)
        elif not self.run.is_stopped():
            failure = confirm(failure, self.run.session, late=True)
        self.run.writer.write(failure)
        result = Result(
            test=failure.test,
            rule=failure.rule,
            op=op,
            verdict=failure.verdict,
            programs=1,
            exercised={failure.rule: 1},
            seconds=0.0,
        )
        self.run.write(result)
        return self.run.session.settings.strict or not is_advice(fault.rule)

    def _update(self) -> bool:
        """Adds the violations that were found to the file of known differences, with `--update-known`. Returns whether
        a violation that cannot be added fails the run.
        """
        path = self.run.session.settings.update
        if path is None:
            return False
        findings, common = self.run.tally.findings, self.run.tally.common
        self.run.known_update = update(path, findings, common, self.run.session, datetime.now(UTC).date())
        for each in self.run.known_update.unwritten:
            for record in each.records():
                self.run.write(record)
        return any(each.fails for each in self.run.known_update.unwritten)

    def _has_failed(self) -> bool:
        """Returns whether a failure among the records fails the run; a violated SHOULD rule does so only in a strict
        run.
        """
        failures = [each for each in self.run.writer.records if isinstance(each, Failure)]
        return any(self.run.session.settings.strict or not is_advice(each.rule) for each in failures)

    @contextmanager
    def _journaled(self) -> Iterator[None]:
        """Writes each program that runs at the end of the run to a journal, a file that names the running program,
        since a program may hang or end the process.
        """
        if self.run.is_stopped():
            yield
            return
        folder, worker = self.run.session.settings.folder, self.run.session.settings.worker
        own = self.run.parts.attempt(
            "the journal", lambda: journal.Journal(folder, worker, self.run.session.settings.watchdog), None
        )
        if own is None:
            yield
            return
        own.begin("the end of the run", slugs.ERRORS_LEGAL_RETURNS, None)
        try:
            with self.run.session.process.journaled(own):
                yield
        finally:
            self.run.parts.attempt("the journal", own.close, None)

    def _write_known(self) -> None:
        """Writes a record for each known difference, with the number of programs that showed it."""
        for number, entry in enumerate(self.run.session.framework.known):
            count = self.run.tally.differences[number]
            if not count and (entry.inherited or self.run.session.framework.is_skipped(entry)):
                continue
            tested = (entry.rule, entry.op) in self.run.exercised  # otherwise the run says nothing about it
            if not count and tested and not self.run.is_stopped():
                shows = partial(self._shows, entry)
                count = int(self.run.parts.attempt("witnesses of known differences", shows, False))
            self.run.writer.write(known_record(entry, count, self.run.tally.ended[number]))
        for new in self.run.known_update.written:
            self.run.writer.write(
                KnownRecord(rule=new.signature.rule, op=new.signature.op, reason=new.observed, seen=new.seen)
            )

    def _shows(self, entry: Entry) -> bool:
        return self.run.session.framework.run_witness(entry)

    def _write_claims(self) -> None:
        """Writes a record for each claim of an article about autograd that was tested."""
        if self.run.tally.articles:
            target = self.run.session.framework.target
            observe = limited_case_runner(target, lambda: not self.run.is_stopped())
            for claim in claim_records(self.run.tally.articles, target.dialect, observe):
                self.run.writer.write(claim)

    def _write_coverage(self) -> None:
        """Writes the coverage of ops, and the framework's choices among allowed outcomes."""
        for each in self.run.tally.coverage():
            self.run.writer.write(each)
        for behaviour in self.run.tally.behaviours():
            self.run.writer.write(behaviour)
        if interactions := self.run.tally.interactions():
            self.run.writer.write(interactions)

    def _has_stale(self) -> bool:
        return any(each.stale for each in entries(self.run.writer.report()))

    def _least_footer(self, exitstatus: int) -> Footer:
        """Returns the last record of the report with only the facts that are always known."""
        return Footer(
            verdict="interrupted",
            finished=now(),
            seconds=round(time.monotonic() - self.run.started, 2),
            tests=self.run.tests,
            programs=self.run.programs,
            exit_code=int(exitstatus),
            reason=self.run.reason,
            cut_in_audit=self.run.session.framework.audited.cut,
        )

    def _with_failed_parts(self, footer: Footer) -> Footer:
        """Returns the last record of the report, with the verdict "interrupted" if some part of the end failed."""
        if not self.run.parts.failed:
            return footer
        reason = "; ".join(filter(None, [footer.reason, *dict.fromkeys(self.run.parts.failed)]))
        code = self.run.parts.code if footer.exit_code in RIGHT else footer.exit_code
        return replace(footer, verdict="interrupted", reason=reason, exit_code=code)

    def _footer(self, exitstatus: int) -> Footer:
        """Makes the last record of the report, with an exit code of the suite's own, because pytest's does not show
        that a failure limit or the budget ended the run.
        """
        session = self.run.pytest_session
        not_run = max(0, session.testscollected - len(self.run.ended_tests)) if session else 0
        limit = session.config.option.maxfail if session else 0
        if session and limit and session.testsfailed >= limit:
            exitstatus = pytest.ExitCode.TESTS_FAILED  # also with workers
            self.run.reason = (
                f"stopped after {counted(session.testsfailed, 'failure')} (--maxfail)" if not_run else None
            )
        verdict: Literal["complete", "cut short", "interrupted"] = "complete"
        if not_run or exitstatus not in ENDS:
            verdict = "interrupted"
        elif self.run.is_cut_short or self.run.session.framework.audited.untried:
            verdict = "cut short"
            self.run.reason = "the run's budget (--programs or --seconds) ended"
        framework = self.run.session.framework
        footer = replace(
            self._least_footer(exitstatus),
            verdict=verdict,
            not_run=not_run,
            deselected=self.run.deselected,
            missing_ops=tuple(sorted(framework.audited.missing)),
            notes=(*audit_notes(framework.audited, framework.faulty_ops), *self.run.tally.remarks.lines()),
            selection=not self.run.whole,
        )
        summary = summarize(replace(self.run.writer.report(), footer=footer))
        return replace(footer, exit_code=exit_code(summary, footer, int(exitstatus)))
