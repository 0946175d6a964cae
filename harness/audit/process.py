"""The audit in a process of its own: an op that ends its process, or never comes back, is only one more wrong op.

The process notes each op before it runs it and what came of it afterwards. Where it dies, the op that it had begun is
lost, and another process goes on with the ops behind it. An op that is right is then differentiated twice, and if that
is right, too, three times.
"""

from __future__ import annotations

import faulthandler
import json
import math
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from autograd_conformance.frameworks.registry import BrokenAdapter
from autograd_conformance.frameworks.target import InProcess, loaded
from autograd_conformance.harness.alphabet import alphabet_of
from autograd_conformance.harness.audit.outcome import Audited, Fault, Outcome
from autograd_conformance.harness.audit.programs import outcomes
from autograd_conformance.harness.child import LOADING, environment
from autograd_conformance.harness.limits import UNLIMITED, Limits
from autograd_conformance.harness.patience import stretched
from autograd_conformance.programs import codec
from autograd_conformance.programs.language import Program
from autograd_conformance.strategies.building import alphabet

END = "end"
"""Stands for an op after the last one."""

LOST = "the process died, or did not come back in time"
"""What is observed where an op's program ended the process of the audit."""

FAILED = "failed"
"""The file, beside the notes, that says why the audit itself failed, which says nothing about the op."""

SPENT = 94
"""The exit code where the run's budget of programs ended."""


class AuditCutShort(Exception):
    """The run's budget ended during the audit; the message says which budget."""


class AuditFailed(Exception):
    """The audit could not be held; the message says why."""


def audit(
    name: str, device: str, dtypes: Sequence[str], timeout: float, thrice: bool, limits: Limits = UNLIMITED
) -> Audited:
    """How often each op of a framework can be differentiated; three times is not tried unless `thrice` says so.

    `timeout` is how many seconds one op may take, and `limits` what the whole run may; raises `AuditCutShort` where the
    audit alone would take more.
    """
    most = "any" if limits.programs is None else str(limits.programs)
    asked = name, device, ",".join(dtypes), str(timeout), "thrice" if thrice else "twice", most
    with TemporaryDirectory() as folder:
        notes, failed, errors = (Path(folder) / name for name in ("notes", FAILED, "stderr"))
        notes.touch()
        command = [sys.executable, "-m", "autograd_conformance.harness.audit.process", *asked, str(notes)]
        begun = -1
        while len(found := _read(notes)) > begun:
            begun = len(found)
            code = _wait(command, notes, errors, stretched(timeout + LOADING), limits)
            if code == SPENT:
                raise AuditCutShort("the budget of programs ended during the audit of the ops")
            found = _read(notes)
            if END in found:
                outcomes = {op: each.outcome for op, each in found.items() if op != END}
                return replace(Audited.of(outcomes, _faults(found)), programs=_ran(notes))
            if failed.exists():
                raise AuditFailed(failed.read_text(encoding="utf-8"))
        said = errors.read_text(encoding="utf-8", errors="replace")[-2000:]
    raise AuditFailed(f"the audit of the ops came to no end:\n{said}")


def _wait(command: Sequence[str], notes: Path, errors: Path, limit: float, limits: Limits) -> int | None:
    """Run a command to its end, and give its exit code; None where it noted nothing for `limit` seconds.

    What it writes goes into a file: processes that a framework leaves would hold a pipe open, and this one with it.
    """
    with errors.open("wb") as file:
        process = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=file)
        noted, since = -1, time.monotonic()
        try:
            while True:
                try:
                    return process.wait(1)
                except subprocess.TimeoutExpired:
                    if limits.seconds_left() == 0:
                        raise AuditCutShort("the budget of seconds ended during the audit of the ops") from None
                    size = notes.stat().st_size
                    if size != noted:
                        noted, since = size, time.monotonic()
                    elif time.monotonic() - since > limit:
                        return None
        finally:
            process.kill()
            process.wait()


class Counting:
    """Counts the programs of an audit, and ends its process where they are too many; other processes go on counting."""

    def __init__(self, notes: Path, most: float) -> None:
        self.path, self.most = notes.with_suffix(".programs"), most
        self.programs = _ran(notes)

    def before(self, program: Program) -> None:
        """A program is about to run."""
        self.programs += 1
        if self.programs > self.most:
            os._exit(SPENT)

    def keep(self) -> None:
        """Write down how many there were."""
        self.path.write_text(str(self.programs))


def _ran(notes: Path) -> int:
    """How many programs the processes of an audit ran, but for those of ops that were lost."""
    path = notes.with_suffix(".programs")
    return int(path.read_text()) if path.exists() else 0


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
    whole = notes.read_text().split("\n")[:-1]  # a process that was killed may leave a part of a line
    return {note.op: note for note in (Note(*json.loads(line)) for line in whole)}


def _faults(found: Mapping[str, Note]) -> dict[str, Fault]:
    """What is wrong with each op: as it was found, or, where its process ended, the program that was running."""
    faults = {op: Fault.from_json(note.fault) for op, note in found.items() if note.fault}
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


def main(name: str, device: str, dtypes: str, timeout: str, depth: str, most: str, path: str) -> None:
    """Hold the audit, from the first op of which there is no note."""
    seen = _read(Path(path))
    try:
        notes = Notes(Path(path))
        counting = Counting(Path(path), math.inf if most == "any" else int(most))

        def before(program: Program) -> None:
            counting.before(program)
            notes.before(program)

        target = InProcess(loaded(name, device), before)
        tried = tuple(dtypes.split(","))
        everything = alphabet_of(target, tried)
        alphabet.use(everything)
        for op in (op for op in everything.ops if op not in seen):
            faulthandler.dump_traceback_later(stretched(float(timeout)), exit=True)
            notes.take(Note(op, "begun"))
            for outcome, fault in outcomes(op, target, tried, depth == "thrice"):
                notes.take(Note(op, outcome, fault=None if fault is None else asdict(fault)))
            counting.keep()
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
