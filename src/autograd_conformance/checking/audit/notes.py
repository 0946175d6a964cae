"""The notes of an audit: what has come of each op so far, in a file that outlives the process that writes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from autograd_conformance.checking.audit.outcome import Fault, Outcome
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.language import Program

END = "end"
"""Stands for an op after the last one."""

TOGETHER = "together: "
"""Stands before the ops that were begun together."""

LOST = "the process died, or did not come back in time"
"""What is observed where an op's program ended the process of the audit."""


class Note(NamedTuple):
    """A line of the notes: what has come of an op so far."""

    op: str
    outcome: Outcome
    program: str | None = None
    """The program that was about to run, as JSON."""
    fault: dict[str, Any] | None = None
    """The op's fault, where it is wrong."""


def read(notes: Path) -> dict[str, Note]:
    """The last note of each op that was begun."""
    whole = notes.read_text().split("\n")[:-1]  # a process that was killed may leave a part of a line
    return {note.op: note for note in (Note(*json.loads(line)) for line in whole)}


def faults(found: Mapping[str, Note]) -> dict[str, Fault]:
    """What is wrong with each op: as it was found, or, where its process ended, the program that was running."""
    found_faults = {op: Fault.from_json(note.fault) for op, note in found.items() if note.fault}
    for op, note in found.items():
        if note.outcome == "begun" and note.program:
            found_faults[op] = Fault(json.loads(note.program), "gradients/op", LOST)
    return found_faults


def of_ops(found: Mapping[str, Note]) -> dict[str, Note]:
    """The notes that are about one op."""
    return {op: note for op, note in found.items() if op != END and not op.startswith(TOGETHER)}


class Notes:
    """The notes as they are written, each line on disk before the process goes on."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("a", encoding="utf-8")
        self.latest = Note(END, "begun")

    def write(self, note: Note) -> None:
        """Write a note."""
        self.latest = note
        print(json.dumps(note), file=self.file, flush=True)

    def before(self, program: Program) -> None:
        """Write which program is about to run."""
        self.write(self.latest._replace(program=codec.dumps(program)))


def programs_run(notes: Path) -> int:
    """How many programs the processes of an audit ran, but for those of ops that were lost."""
    path = notes.with_suffix(".programs")
    return int(path.read_text()) if path.exists() else 0
