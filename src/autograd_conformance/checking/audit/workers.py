"""An audit from outside: the ops are shared out to processes, and where one dies, another goes on."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from autograd_conformance.checking.audit.notes import END, Note, faults, of_ops, programs_run, read
from autograd_conformance.checking.audit.outcome import NOTHING_FOUND, AuditResult
from autograd_conformance.checking.audit.worker import DESCRIPTION, FAILED, SPENT
from autograd_conformance.checking.limits import SPENT_IN_AUDIT, UNLIMITED, Limits
from autograd_conformance.frameworks.probing.descriptions import Description
from autograd_conformance.processes.child import LOADING, PYTHON, environment
from autograd_conformance.processes.timeouts import stretched

POLL = 0.05
"""Seconds between two looks at the processes."""


NO_NOTES: Mapping[str, Note] = {}
"""No earlier audit is known."""


class Audit(NamedTuple):
    """An audit that came to its end."""

    found: AuditResult
    """What it found."""
    notes: Mapping[str, Note]
    """What was noted of each op."""


class AuditCutShort(Exception):
    """The run's budget ended during the audit; the message says which budget."""

    notes: Mapping[str, Note] = NO_NOTES
    """What was noted of the ops that were through by then, and right."""
    found: AuditResult = NOTHING_FOUND
    """What was found wrong until then; nothing of the ops that were being tried."""


class AuditFailed(Exception):
    """The audit could not be held; the message says why."""


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
    said: Description | None = None,
) -> Audit:
    """How often each op of a framework can be differentiated; three times is not tried unless `thrice` says so.

    `timeout` is how many seconds one op may take, or, where units cost much, each of its programs, and `limits` what
    the whole run may; raises `AuditCutShort` where the audit alone would take more. The ops of which notes were `kept`
    are not audited again, the others by so many processes at once; none where nothing is left. The ops of `but` are
    not audited at all. Each process is held to what the framework `said` of itself before.
    """
    most = "any" if limits.programs is None else str(limits.programs)
    asked = name, device, ",".join(dtypes), str(timeout), "thrice" if thrice else "twice", most, ",".join(sorted(but))
    with TemporaryDirectory() as folder, ExitStack() as ending:
        limit = stretched(timeout + LOADING)
        shares = [AuditWorker((*asked, f"{k}/{jobs}"), Path(folder) / str(k), limit, kept, said) for k in range(jobs)]
        for share in shares:
            ending.callback(share.stop)
            share.start()
        running = shares
        try:
            while running := [share for share in running if share.runs()]:
                if limits.seconds_left() == 0:
                    raise AuditCutShort("the budget of seconds ended during the audit of the ops")
                time.sleep(POLL)
        except AuditCutShort as error:  # what an op that is not right was noted as may not be the last word on it
            noted = {op: note for op, note in _noted(shares).items() if note.outcome != "begun"}
            error.notes = dict(kept) | {op: note for op, note in noted.items() if note.outcome == "fine"}
            error.found = AuditResult.of({op: note.outcome for op, note in noted.items()}, faults(noted))
            raise
        found = dict(kept) | _noted(shares)
        programs = sum(programs_run(share.notes) for share in shares)
    outcomes = {op: each.outcome for op, each in found.items()}
    return Audit(replace(AuditResult.of(outcomes, faults(found)), programs=programs), found)


def _noted(shares: Sequence[AuditWorker]) -> dict[str, Note]:
    """What several processes noted of each op."""
    return {op: note for share in shares for op, note in of_ops(read(share.notes)).items()}


class AuditWorker:
    """A process that audits some of the ops; where it dies, another one goes on behind the op that it had begun.

    What it writes goes into a file: processes that a framework leaves would hold a pipe open, and this one with it.
    """

    def __init__(
        self,
        asked: Sequence[str],
        folder: Path,
        limit: float,
        kept: Mapping[str, Note],
        said: Description | None = None,
    ) -> None:
        folder.mkdir()
        if said is not None:
            (folder / DESCRIPTION).write_text(json.dumps(said.to_json()), encoding="utf-8")
        self.notes, self.failed, self.errors = (folder / name for name in ("notes", FAILED, "stderr"))
        self.notes.write_text("".join(f"{json.dumps(note)}\n" for note in kept.values()), encoding="utf-8")
        module = "autograd_conformance.checking.audit.worker"
        self.command = [*PYTHON, "-m", module, str(os.getpid()), *asked, str(self.notes)]
        self.limit = limit
        self.begun = -1
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start a process for what is not audited yet."""
        self.begun = len(read(self.notes))
        with self.errors.open("wb") as file:
            self.process = subprocess.Popen(self.command, env=environment(), stdout=subprocess.DEVNULL, stderr=file)
        self.noted, self.since = -1, time.monotonic()

    def runs(self) -> bool:
        """Whether there is more to audit; raises what ends the audit."""
        assert self.process is not None
        code = self.process.poll()
        if code is None and not self._is_stuck():
            return True
        self.stop()
        if code == SPENT:
            raise AuditCutShort(SPENT_IN_AUDIT)
        found = read(self.notes)
        if END in found:
            return False
        if self.failed.exists():
            raise AuditFailed(self.failed.read_text(encoding="utf-8"))
        if len(found) <= self.begun:
            lines = self.errors.read_text(encoding="utf-8", errors="replace").split("\n")
            last = next((line.strip() for line in reversed(lines) if line.strip()), "it wrote nothing")
            raise AuditFailed(f"the audit of the ops came to no end; last its process wrote: {last[:200]}")
        self.start()
        return True

    def _is_stuck(self) -> bool:
        """Whether nothing was noted for as long as an op may take."""
        size = self.notes.stat().st_size
        if size != self.noted:
            self.noted, self.since = size, time.monotonic()
        return time.monotonic() - self.since > self.limit

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
