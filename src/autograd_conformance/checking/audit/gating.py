"""Runs the gates of the stages before the tests, in separate processes, and finds the stages that are wholly broken.

The main process does this once, and sends the result to the workers, so that the decision is the same with any number
of workers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from autograd_conformance.checking.audit.gate_worker import END, GateNote, Request, broken_stages, latest
from autograd_conformance.checking.audit.outcome import Fault
from autograd_conformance.processes.child import LOADING, Child, Output, environment
from autograd_conformance.processes.last_words import described_end
from autograd_conformance.processes.task import Growth, Notes, Task, naming_storage, refuse_unwritable
from autograd_conformance.processes.timeouts import scaled_timeout
from autograd_conformance.rules.stages import waiting_for

POLL = 0.02
"""Seconds between two checks of whether the process still runs."""

SLOW = 0.1
"""Seconds for a gate, a program of one to three ops, above which a framework counts as slow."""

PROGRAMS = 25
"""About the number of programs with which the audit runs one op."""


class GateRun(NamedTuple):
    """The result of running the gates of all stages."""

    broken: Mapping[str, list[Fault]]
    """The wholly broken stages, each with the violations of its gates."""
    seconds: float | None
    """Median of the seconds that the framework took for a gate; None if none ended."""
    is_complete: bool
    """Whether all gates ran that had to."""

    @property
    def is_slow(self) -> bool:
        """Whether the framework takes so long for a program that it cannot bear many."""
        return self.seconds is not None and self.seconds > SLOW


def takes_long(gate_seconds: float, ops: int, seconds: float) -> bool:
    """Returns whether running each op alone takes too long, so that ops have to run in batches: of a framework that
    counts as slow, or where one process needs more than `seconds` for so many ops even if no program takes longer than
    a gate.
    """
    return gate_seconds > SLOW or gate_seconds * PROGRAMS * ops > seconds


def gate_run(name: str, device: str, dtype: str, timeout: float, until: float = math.inf) -> GateRun:
    """Runs the gates of all stages on a framework, until a time on the monotonic clock. A stage whose gates did not run
    in time, or cannot run, counts as open. Raises `UnwritableFiles` if the disk is full.
    """
    request = Request(name, device, dtype, timeout)
    with naming_storage(), TemporaryDirectory() as folder:
        task = Task("autograd_conformance.checking.audit.gate_worker", Path(folder), asdict(request))
        begun = -1
        while len(found := latest(task.notes())) > begun and not _is_finished(task) and time.monotonic() < until:
            begun = len(found)
            _run_until_it_ends(task, timeout, until)
        notes = list(latest(task.notes()).values())
    is_complete = notes[-1:] == [GateNote(END)]
    running = None if is_complete or not notes else notes[-1].stage  # it may have further gates
    took = sorted(note.seconds for note in notes if note.seconds)
    broken = broken_stages(note for note in notes if note.stage != running)
    return GateRun(broken, took[len(took) // 2] if took else None, is_complete)


def _is_finished(task: Task) -> bool:
    return task.failure() is not None or any(each[0] == END for each in task.notes())


def _run_until_it_ends(task: Task, timeout: float, until: float) -> None:
    """Starts a process for the gates without notes, and waits until it ends, hangs, or the time is over. The note of
    the gate that ended it, or hung, says how.
    """
    growth, printed = Growth(task, scaled_timeout(timeout + LOADING)), Output()
    child = Child(task.command, environment(), printed)
    try:
        while (status := child.status) is None and time.monotonic() < until and not growth.has_stopped():
            time.sleep(POLL)
    finally:
        child.stop()
    refuse_unwritable(status)
    last = next(reversed(latest(task.notes()).values()), None)
    if last is not None and last.outcome == "begun" and last.fault is not None and time.monotonic() < until:
        ending = described_end(status, growth.limit, child.errors.text(), printed.text())
        Notes(task.path.parent).write(last._replace(fault={**last.fault, "observed": ending}))


@dataclass(frozen=True, slots=True)
class Waiting:
    """The stages whose tests wait, for the processes of the tests."""

    stages: Mapping[str, str] = field(default_factory=dict)
    """The name of each stage that waits, with the name of the wholly broken stage that it waits for."""

    @classmethod
    def of(cls, broken: frozenset[str]) -> Waiting:
        """Returns the stages that wait if some are wholly broken."""
        return cls(waiting_for(broken))

    def reason(self, stage: str) -> str | None:
        """Returns why the tests of a stage wait; None if they run."""
        broken = self.stages.get(stage)
        if broken is None:
            return None
        wrong = f"all smallest programs of the stage '{broken}' go wrong"
        return wrong if broken == stage else f"the stage '{stage}' needs '{broken}', and {wrong}"


NOTHING_WAITS = Waiting()
