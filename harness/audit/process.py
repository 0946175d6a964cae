"""The audit in a process of its own: an op that ends its process, or never comes back, is only one more wrong op.

The process notes each op before it runs it and what came of it afterwards. Where it dies, the op that it had begun is
lost, and another process goes on with the ops behind it. An op that is right is then differentiated twice, and if that
is right, too, three times.
"""

from __future__ import annotations

import faulthandler
import json
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from autograd_conformance.frameworks.registry import BrokenAdapter
from autograd_conformance.frameworks.target import InProcess, loaded
from autograd_conformance.harness.alphabet import alphabet_of
from autograd_conformance.harness.audit.outcome import Audited, Fault, Outcome
from autograd_conformance.harness.audit.programs import outcomes
from autograd_conformance.programs import codec
from autograd_conformance.programs.language import Program
from autograd_conformance.strategies.building import alphabet

END = "end"
"""Stands for an op after the last one."""

LOST = "the process died, or did not come back in time"
"""What is observed where an op's program ended the process of the audit."""

FAILED = "failed"
"""The file, beside the notes, that says why the audit itself failed, which says nothing about the op."""

START = 120.0
"""Seconds that a process may take, besides those of an op, before it has noted anything."""


class AuditFailed(Exception):
    """The audit could not be held; the message says why."""


def audit(name: str, device: str, dtypes: Sequence[str], timeout: float, thrice: bool) -> Audited:
    """How often each op of a framework can be differentiated; three times is not tried unless `thrice` says so.

    `timeout` is how many seconds one op may take.
    """
    asked = name, device, ",".join(dtypes), str(timeout), "thrice" if thrice else "twice"
    with TemporaryDirectory() as folder:
        notes, failed, errors = (Path(folder) / name for name in ("notes", FAILED, "stderr"))
        notes.touch()
        command = [sys.executable, "-m", "autograd_conformance.harness.audit.process", *asked, str(notes)]
        begun = -1
        while len(found := _read(notes)) > begun:
            begun = len(found)
            _wait(command, notes, errors, timeout + START)
            found = _read(notes)
            if END in found:
                return Audited.of({op: each.outcome for op, each in found.items() if op != END}, _faults(found))
            if failed.exists():
                raise AuditFailed(failed.read_text(encoding="utf-8"))
        said = errors.read_text(encoding="utf-8", errors="replace")[-2000:]
    raise AuditFailed(f"the audit of the ops came to no end:\n{said}")


def _wait(command: Sequence[str], notes: Path, errors: Path, limit: float) -> None:
    """Run a command to its end, or until it has noted nothing for so many seconds.

    What it writes goes into a file: processes that a framework leaves would hold a pipe open, and this one with it.
    """
    with errors.open("wb") as file:
        process = subprocess.Popen(command, env=_environment(), stdout=subprocess.DEVNULL, stderr=file)
        noted, since = -1, time.monotonic()
        try:
            while True:
                try:
                    process.wait(1)
                    return
                except subprocess.TimeoutExpired:
                    size = notes.stat().st_size
                    if size != noted:
                        noted, since = size, time.monotonic()
                    elif time.monotonic() - since > limit:
                        return
        finally:
            process.kill()
            process.wait()


def _environment() -> dict[str, str]:
    """This process's environment, in which another finds what this one finds."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


class Note(NamedTuple):
    """A line of the notes: what has come of an op so far."""

    op: str
    outcome: Outcome
    program: str | None = None
    """The program that was about to run, as JSON."""
    fault: dict[str, Any] | None = None
    """The op's fault, where it is wrong."""


def _read(notes: Path) -> dict[str, Note]:
    """The last note of each op that was begun."""
    return {note.op: note for note in (Note(*json.loads(line)) for line in notes.read_text().splitlines())}


def _faults(found: Mapping[str, Note]) -> dict[str, Fault]:
    """What is wrong with each op: as it was found, or, where its process ended, the program that was running."""
    faults = {op: Fault(**note.fault) for op, note in found.items() if note.fault}
    for op, note in found.items():
        if note.outcome == "begun" and note.program:
            faults[op] = Fault(json.loads(note.program), "gradients/op", LOST)
    return faults


class Notes:
    """The notes as they are written, each line on disk before the process goes on."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("a", encoding="utf-8")
        self.latest = Note(END, "begun")

    def take(self, note: Note) -> None:
        """Write a note."""
        self.latest = note
        print(json.dumps(note), file=self.file, flush=True)

    def before(self, program: Program) -> None:
        """Write which program is about to run."""
        self.take(self.latest._replace(program=codec.dumps(program)))


def main(name: str, device: str, dtypes: str, timeout: str, depth: str, path: str) -> None:
    """Hold the audit, from the first op of which there is no note."""
    seen = _read(Path(path))
    try:
        notes = Notes(Path(path))
        target = InProcess(loaded(name, device), notes.before)
        tried = tuple(dtypes.split(","))
        everything = alphabet_of(target, tried)
        alphabet.use(everything)
        for op in (op for op in everything.ops if op not in seen):
            faulthandler.dump_traceback_later(float(timeout), exit=True)
            notes.take(Note(op, "begun"))
            for outcome, fault in outcomes(op, target, tried, depth == "thrice"):
                notes.take(Note(op, outcome, fault=None if fault is None else asdict(fault)))
        notes.take(Note(END, "fine"))
    except BrokenAdapter as error:
        Path(path).with_name(FAILED).write_text(str(error), encoding="utf-8")
    except Exception:
        last = traceback.format_exc().splitlines()[-30:]
        text = "\n".join(["the audit of the ops failed:", *last])
        Path(path).with_name(FAILED).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
    os._exit(0)  # whatever threads the framework leaves
