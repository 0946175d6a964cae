"""Notes of an audit: the outcome of each op so far, in a file that survives the process that writes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from autograd_conformance.checking.audit.outcome import Fault, Outcome
from autograd_conformance.programs import slugs
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.language import Program

END = "end"
"""Name in the note after the last op."""

TOGETHER = "together: "
"""Prefix of a note about a batch of ops."""

LOST = "the process died, or did not come back in time"
"""Observation for an op whose program ended the process of the audit."""


class Note(NamedTuple):
    """A line of the notes: the outcome of an op so far."""

    op: str
    outcome: Outcome
    program: str | None = None
    """The program that is about to run, as JSON."""
    fault: dict[str, Any] | None = None
    """The violation of a faulty op."""


def read(notes: Path) -> dict[str, Note]:
    """The last note of each op."""
    whole = notes.read_text().split("\n")[:-1]  # a killed process may leave an incomplete line
    return {note.op: note for note in (Note(*json.loads(line)) for line in whole)}


def faults(found: Mapping[str, Note]) -> dict[str, Fault]:
    """The violation of each faulty op. For an op whose process ended, the program that was running."""
    found_faults = {op: Fault.from_json(note.fault) for op, note in found.items() if note.fault}
    for op, note in found.items():
        if note.outcome == "begun" and note.program:
            found_faults[op] = Fault(json.loads(note.program), slugs.GRADIENTS_OP, LOST)
    return found_faults


def of_ops(found: Mapping[str, Note]) -> dict[str, Note]:
    """The notes about single ops."""
    return {op: note for op, note in found.items() if op != END and not op.startswith(TOGETHER)}


class Notes:
    """Writes notes. Each line is on disk before the process continues."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("a", encoding="utf-8")
        self.latest = Note(END, "begun")

    def write(self, note: Note) -> None:
        """Writes a note."""
        self.latest = note
        print(json.dumps(note), file=self.file, flush=True)

    def before(self, program: Program) -> None:
        """Writes the program that is about to run."""
        self.write(self.latest._replace(program=codec.dumps(program)))


def programs_run(notes: Path) -> int:
    """Number of programs that the processes of an audit ran, without those of ops that ended a process."""
    path = notes.with_suffix(".programs")
    return int(path.read_text()) if path.exists() else 0
