"""Starts the processes that run each op alone (the audit): each runs a part of the ops, and is replaced if it dies."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from autograd_conformance.checking.audit.notes import END, Note, faults, latest, of_ops, programs_run
from autograd_conformance.checking.audit.outcome import NOTHING_FOUND, AuditResult
from autograd_conformance.checking.audit.worker import SPENT, Request
from autograd_conformance.checking.limits import UNLIMITED, Limits
from autograd_conformance.frameworks.probing.descriptions import Description
from autograd_conformance.processes.child import LOADING, Child, Output, environment
from autograd_conformance.processes.last_words import described_end
from autograd_conformance.processes.task import Growth, Notes, Task, naming_storage, refuse_unwritable
from autograd_conformance.processes.timeouts import scaled_timeout
from autograd_conformance.reporting.records.terms import Budget

POLL = 0.05
"""Seconds between two checks of whether the processes that run ops alone still run."""


NO_NOTES: Mapping[str, Note] = {}
"""The notes of no earlier audit: every op runs."""


class Audit(NamedTuple):
    """The result of running each op alone, and the notes to store for later runs."""

    found: AuditResult
    """The ops that violate a rule, and the number of programs that ran."""
    notes: Mapping[str, Note]
    """The note of each op, which contains its outcome."""


class AuditCutShort(Exception):
    """A budget of the run ended while each op ran alone."""

    def __init__(self, budget: Budget) -> None:
        super().__init__(f"the budget of {budget} ended while each op was tested alone, before the tests")
        self.budget: Budget = budget

    notes: Mapping[str, Note] = NO_NOTES
    """Notes of the ops that were finished and right, for later runs."""
    found: AuditResult = NOTHING_FOUND
    """The faulty ops so far, without the ops that were running."""


class AuditFailed(Exception):
    """The audit failed, for a reason that says nothing about the ops; the message says why."""


def audit(
    name: str,
    device: str,
    dtypes: Sequence[str],
    timeout: float,
    thrice: bool,
    limits: Limits = UNLIMITED,
    kept: Mapping[str, Note] = NO_NOTES,
    jobs: int = 1,
    but: frozenset[str] = frozenset(),
    description: Description | None = None,
    until: float = math.inf,
    most: int | None = None,
    slow: bool = False,
) -> Audit:
    """Runs each op of a framework alone, and returns how many times it can be differentiated; third derivatives only
    with `thrice`.

    `timeout` is the number of seconds for one op, or for each program if compiling is expensive. `limits` are those of
    the whole run; raises `AuditCutShort` if the audit exceeds them. At the time `until`, on the monotonic clock, or
    after `most` programs, the audit ends; the ops that are not finished then have no notes in its result. If a single
    program takes long (`slow`), ops run in batches, and alone only where a batch fails. The ops with notes in `kept` do
    not run again, and the ops of `but` not at all. `jobs` processes run the others. Each process has to load a
    framework with the same `description`.
    """
    request = Request(
        name, device, dtypes, timeout, thrice, limits.programs if most is None else most, sorted(but),
        None if description is None else description.to_json(), shares=jobs, slow=slow,
    )  # fmt: skip
    with naming_storage(), TemporaryDirectory() as folder, ExitStack() as ending:
        shares = [AuditWorker(replace(request, number=k), Path(folder) / str(k), kept) for k in range(jobs)]
        for share in shares:
            ending.callback(share.stop)
            share.start()
        running, is_over = shares, False
        try:
            while running := [share for share in running if share.keep_running()]:
                if limits.seconds_left() == 0:
                    raise AuditCutShort("seconds")
                if is_over := time.monotonic() >= until:
                    break
                time.sleep(POLL)
        except AuditCutShort as error:  # the note of an op that is not right may not be final
            if error.budget == "programs" and most is not None:
                return _ended(shares, kept)
            noted = _finished(shares)
            error.notes = dict(kept) | {op: note for op, note in noted.items() if note.outcome == "fine"}
            found_so_far = AuditResult.of({op: note.outcome for op, note in noted.items()}, faults(noted))
            error.found = replace(found_so_far, cut=error.budget)
            raise
        return _ended(shares, kept) if is_over else _audit(shares, dict(kept) | _noted(shares))


def _ended(shares: Sequence[AuditWorker], kept: Mapping[str, Note]) -> Audit:
    """Returns the result of several processes that were ended before all of their ops had run."""
    for share in shares:
        share.stop()
    return _audit(shares, dict(kept) | _finished(shares))


def _audit(shares: Sequence[AuditWorker], found: Mapping[str, Note]) -> Audit:
    """Returns the result that the notes about each op make."""
    programs = sum(programs_run(share.folder) for share in shares)
    outcomes = {op: each.outcome for op, each in found.items()}
    return Audit(replace(AuditResult.of(outcomes, faults(found)), programs=programs), found)


def _noted(shares: Sequence[AuditWorker]) -> dict[str, Note]:
    """Returns the notes of several processes about each op."""
    return {op: note for share in shares for op, note in of_ops(share.noted()).items()}


def _finished(shares: Sequence[AuditWorker]) -> dict[str, Note]:
    """Returns the notes about the ops that did not run when several processes were ended."""
    return {op: note for op, note in _noted(shares).items() if note.outcome != "begun"}


class AuditWorker:
    """A process that runs a part of the ops alone. If the process dies, another one continues after the op that it had
    begun.
    """

    def __init__(self, request: Request, folder: Path, kept: Mapping[str, Note]) -> None:
        folder.mkdir()
        self.folder, self.limit = folder, scaled_timeout(request.timeout + LOADING)
        self.task = Task("autograd_conformance.checking.audit.worker", folder, asdict(request), kept.values())
        self.begun = -1
        self.child: Child | None = None

    def noted(self) -> dict[str, Note]:
        """Returns the last note of each op."""
        return latest(self.task.notes())

    def start(self) -> None:
        """Starts a process for the ops without notes."""
        self.begun = len(self.noted())
        self.printed = Output()
        self.child = Child(self.task.command, environment(), self.printed)
        self.growth = Growth(self.task, self.limit)

    def keep_running(self) -> bool:
        """Starts another process if the last one died; returns whether the part is not finished yet. Raises
        `AuditCutShort`, `AuditFailed` or `UnwritableFiles` if the audit has to end.
        """
        assert self.child is not None
        code = self.child.status
        if code is None and not self.growth.has_stopped():
            return True
        ending = self._ending(code)
        self.stop()
        refuse_unwritable(code)
        if code == SPENT:
            raise AuditCutShort("programs")
        found = self.noted()
        if END in found:
            return False
        if why := self.task.failure():
            raise AuditFailed(why)
        if len(found) <= self.begun:
            lines = self.child.errors.text().split("\n")
            last = next((line.strip() for line in reversed(lines) if line.strip()), "(nothing)")
            raise AuditFailed(f"the audit of the ops did not finish; the last line of its process: {last[:200]}")
        fatal = list(found.values())[-1]
        if fatal.outcome == "begun" and fatal.program:
            Notes(self.folder).write(fatal._replace(ending=ending))
        self.start()
        return True

    def _ending(self, code: int | None) -> str:
        """Describes how the process ended that ran the program of the last note, and quotes the last lines of its
        output if it exited or aborted, which usually say why.
        """
        assert self.child is not None
        return described_end(code, self.growth.limit, self.child.errors.text(), self.printed.text())

    def stop(self) -> None:
        """Ends the process that runs now."""
        if self.child is not None:
            self.child.stop()
