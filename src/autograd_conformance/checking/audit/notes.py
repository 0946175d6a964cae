"""Notes of the audit, which runs each op alone: the outcome of each op so far, in a file that survives the process that
writes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from autograd_conformance.checking.audit.outcome import Fault, Outcome
from autograd_conformance.processes.task import Notes
from autograd_conformance.programs import slugs
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.language import Program

END = "end"
"""Name in place of an op in the note that a process writes after its last op."""

TOGETHER = "together: "
"""Prefix of the name in a note about a batch of ops, before the name of the batch's first op."""

CONTRACT = "contract: "
"""Prefix of the name in a note about the smallest program of a capability, before the capability's name."""

PROGRAMS = "programs"
"""File beside the notes with the number of programs that ran."""

LOST = "the process died, or did not come back in time"
"""Observed outcome, in words, for an op whose program ended the process of the audit in an unknown way."""


class Note(NamedTuple):
    """A line of the notes: an op, or a batch, and its outcome so far."""

    op: str
    outcome: Outcome
    program: str | None = None
    """The program that is about to run, as JSON."""
    fault: dict[str, Any] | None = None
    """The violation of a faulty op, as JSON data."""
    seconds: float = 0.0
    """Of the note about the gates of all stages: the median of the seconds that the framework took for one."""
    ending: str = ""
    """The end of the process that ran the program, in words, if that is known."""


def latest(notes: Iterable[Any]) -> dict[str, Note]:
    """Returns the last note of each op, from the notes of a task."""
    return {note.op: note for note in (Note(*each) for each in notes)}


def faults(found: Mapping[str, Note]) -> dict[str, Fault]:
    """Returns the violation of each faulty op; for an op whose process ended, the program that was running."""
    found_faults = {op: Fault.from_json(note.fault) for op, note in found.items() if note.fault}
    for op, note in found.items():
        if note.outcome == "begun" and note.program:
            found_faults[op] = Fault(json.loads(note.program), slugs.GRADIENTS_OP, note.ending or LOST)
    return found_faults


def of_ops(found: Mapping[str, Note]) -> dict[str, Note]:
    """Returns the notes about single ops, without those about batches, capabilities and the end."""
    return {op: note for op, note in found.items() if op != END and not op.startswith((TOGETHER, CONTRACT))}


class OpNotes:
    """Writes the notes of an audit."""

    def __init__(self, folder: Path) -> None:
        self.notes = Notes(folder)
        self.latest = Note(END, "begun")

    def write(self, note: Note) -> None:
        """Writes a note as a line of the file."""
        self.latest = note
        self.notes.write(note)

    def before(self, program: Program) -> None:
        """Writes a note with the program that is about to run, about the same op as the latest note."""
        self.write(self.latest._replace(program=codec.dumps(program)))


def programs_run(folder: Path) -> int:
    """Returns the number of programs that the processes with this folder ran, without those of ops that ended a
    process.
    """
    path = folder / PROGRAMS
    return int(path.read_text()) if path.exists() else 0
