"""Watches the process in which a check runs, and replaces it if the framework ends or hangs it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from autograd_conformance.authoring.check import Blame, Checked, Remark, summed
from autograd_conformance.authoring.check_worker import END, LOADED, USAGE, Request, StepNote, from_json, latest
from autograd_conformance.frameworks.loading.registry import AdapterError, LoadingEnded, UnknownFramework
from autograd_conformance.processes.child import LOADING, Child, Output, environment
from autograd_conformance.processes.last_words import described_end
from autograd_conformance.processes.task import Growth, Task, naming_storage, refuse_unwritable
from autograd_conformance.processes.timeouts import scaled_timeout
from autograd_conformance.reporting.prose import counted

POLL = 0.05
"""Seconds between two checks of whether the process still runs."""

MOST = 10
"""Largest number of processes that a framework may end before the check ends."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a check."""

    framework: str
    """The framework's name and version."""
    remarks: tuple[Remark, ...]


def watched_check(name: str, device: str, known: Sequence[Path], patience: float) -> Outcome:
    """Checks an adapter in another process; `patience` is the number of seconds that a part of a step may take.

    Raises `AdapterError` if the framework cannot be loaded, and `UnknownFramework` for wrong usage.
    """
    with naming_storage(), TemporaryDirectory() as folder:
        request = Request(name, device, [str(path.absolute()) for path in known], patience)
        task = Task("autograd_conformance.authoring.check_worker", Path(folder), asdict(request))
        endings: dict[int, str] = {}
        while len(endings) < MOST:
            ending = _run(task, patience)
            notes = latest(task.notes())
            if END in notes:
                break
            _refuse(task, notes, ending)
            running = {number for number, note in notes.items() if note.running} - {*endings}
            if not running:
                raise LoadingEnded(f"{name}: {ending}, while it was loaded")
            endings |= dict.fromkeys(running, ending)
        return Outcome(notes[LOADED].about, tuple(_remarks(notes, endings)))


def _refuse(task: Task, notes: dict[int, StepNote], ending: str) -> None:
    """Raises the error for which the check itself failed, if it did."""
    why = task.failure()
    if why is not None:
        kind, _, text = why.partition(": ")
        raise UnknownFramework(text) if f"{kind}: " == USAGE else AdapterError(text)
    if LOADED not in notes:
        raise LoadingEnded(f"the framework could not be loaded: {ending}")


def _run(task: Task, patience: float) -> str:
    """Runs a process for the steps that have no notes yet, until it ends or hangs; returns how it ended."""
    printed = Output()
    before, is_loaded = _loadings(task), False
    child, growth = Child(task.command, environment(), printed), Growth(task, scaled_timeout(LOADING))
    try:
        while (status := child.status) is None and not growth.has_stopped():
            if not is_loaded and (is_loaded := _loadings(task) > before):
                growth.limit = scaled_timeout(patience)
            time.sleep(POLL)
    finally:
        child.stop()
    refuse_unwritable(status)
    return described_end(status, growth.limit, child.errors.text(), printed.text())


def _loadings(task: Task) -> int:
    """Returns how many processes have loaded the framework."""
    return sum(StepNote(*each).number == LOADED for each in task.notes())


def _remarks(notes: dict[int, StepNote], endings: dict[int, str]) -> Iterator[Remark]:
    """Yields the remarks of all steps, of those that ended their process, and one on the steps that did not run."""
    found: list[Checked] = []
    for number, note in sorted(notes.items()):
        if note.found is not None:
            found.append(from_json(note.found))
        elif number in endings:
            text = f"during {note.running}, {endings[number]}"
            found.append(Checked(note.about, (Remark(Blame.EITHER, note.about, text, note.code),)))
    yield from summed(found)
    if END not in notes:
        last = notes[max(notes)].about
        yield Remark(
            Blame.NOTE,
            "check",
            f"it ended after {last}: the framework ended the process {counted(len(endings), 'time')}",
        )
