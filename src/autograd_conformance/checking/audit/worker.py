"""Runs each op alone in a separate process, the audit, so that an op that crashes or hangs counts as one more faulty
op.

The process notes each op before it runs, and its outcome afterwards. If the process dies, the op that it had begun is
lost, and another process continues with the next op. An op that passes is then differentiated twice, and if that passes
too, three times.
"""

from __future__ import annotations

import errno
import faulthandler
import json
import math
import os
import sys
import traceback
from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path

from autograd_conformance.checking.audit.batches import GROUP, passing_in_batch
from autograd_conformance.checking.audit.notes import END, TOGETHER, Note, Notes, programs_run, read
from autograd_conformance.checking.audit.programs import outcomes
from autograd_conformance.checking.known_answers import judge_error
from autograd_conformance.checking.support.alphabet import alphabet_of
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.environment.process_end import ENDED
from autograd_conformance.frameworks.probing.descriptions import Description, describe_difference
from autograd_conformance.frameworks.registry import AdapterError
from autograd_conformance.frameworks.remote.command import parse
from autograd_conformance.frameworks.target import open_target
from autograd_conformance.processes import guard
from autograd_conformance.processes.child import CLOSED, LOADING
from autograd_conformance.processes.timeouts import scaled_timeout
from autograd_conformance.programs.foreign.text import message, type_of
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.own_numpy import rebound_note
from autograd_conformance.reference.staging.cache import store
from autograd_conformance.strategies.building import alphabet

FAILED = "failed"
"""Name of the file beside the notes with the reason why the audit itself failed. Such a failure says nothing about the
ops.
"""

DESCRIPTION = "description"
"""Name of the file beside the notes with the framework's description from the main process."""

PLACES = 4
"""Number of frames of a traceback that an error message names."""

SPENT = 94
"""Exit code of the process if the run's budget of programs ended."""


class Counting:
    """Counts the programs of one part of the audit, which runs each op alone, and ends the process if there are too
    many. Later processes of the same part continue the count.
    """

    def __init__(self, notes: Path, most: float) -> None:
        self.path, self.most = notes.with_suffix(".programs"), most
        self.programs = programs_run(notes)

    def before(self, program: Program) -> None:
        """Counts a program that is about to run; ends the process with `SPENT` if the program is one too many."""
        self.programs += 1
        if self.programs > self.most:
            os._exit(SPENT)

    def keep(self) -> None:
        """Stores the count for a later process of the same part."""
        self.path.write_text(str(self.programs))


def main(
    name: str, device: str, dtypes: str, timeout: str, depth: str, most: str, but: str, part: str, path: str
) -> None:
    """Runs the ops of one part of the audit alone, such as "0/2", every second op, from the first op without a note."""
    noted = read(Path(path))
    try:
        notes = Notes(Path(path))
        counting = Counting(Path(path), math.inf if most == "any" else int(most))

        limit = float(timeout) if parse(name) is None else float(timeout) * 1.5 + LOADING
        costly = False

        def before(program: Program) -> None:
            counting.before(program)
            notes.before(program)
            if costly:  # an op, or a batch, may compile several regions, and has this time for each
                faulthandler.dump_traceback_later(scaled_timeout(limit), exit=True)

        target = open_target(name, device, before, float(timeout), scaled_timeout)
        check_description(Path(path).with_name(DESCRIPTION), target)
        costly = target.programs_each > 0
        tried = tuple(dtypes.split(","))
        everything = alphabet_of(target, tried)
        alphabet.use(everything)
        number, parts = map(int, part.split("/"))
        ops = [op for op in everything.ops[number::parts] if op not in {*noted, *but.split(",")}]
        if costly:
            ops = together(ops, target, tried, notes, noted)
        for op in ops:
            faulthandler.dump_traceback_later(scaled_timeout(limit), exit=True)
            notes.write(Note(op, "begun"))
            try:
                for outcome, fault in outcomes(op, target, tried, depth == "thrice"):
                    notes.write(Note(op, outcome, fault=None if fault is None else asdict(fault)))
            except ENDED:  # the framework's own process ended: the op is lost, and the audit continues
                pass
            counting.keep()
        if why := judge_error():
            raise AdapterError(f"{target.name}: {why}")
        notes.write(Note(END, "fine"))
    except AdapterError as error:
        Path(path).with_name(FAILED).write_text(str(error), encoding="utf-8")
    except Exception as error:
        closed = isinstance(error, OSError) and error.errno == errno.EBADF
        text = f"{name}: {CLOSED}" if closed else f"the audit of the ops failed: {describe_error(error)}"
        Path(path).with_name(FAILED).write_text(text, encoding="utf-8")


def describe_error(error: Exception) -> str:
    """Returns an error of the audit itself on one line, with the innermost frames of its traceback."""
    frames = traceback.extract_tb(error.__traceback__)[-PLACES:]
    places = ", ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))
    return " ".join(f"{type_of(error)}: {message(error)} ({places}){rebound_note()}".split())


def check_description(path: Path, target: Target) -> None:
    """Compares the framework with its description in the main process, if there is a file with it. Raises
    `AdapterError` if they differ.
    """
    if path.exists():
        description = Description.from_json(json.loads(path.read_text(encoding="utf-8")))
        if why := describe_difference(description, target, "the audit"):
            raise AdapterError(why)


def together(
    ops: Sequence[str], target: Target, dtypes: Sequence[str], notes: Notes, noted: Collection[str]
) -> list[str]:
    """Runs ops in batches, and returns the ops that have to run alone. If a batch ended a process, all ops of the batch
    have to.
    """
    left: list[str] = []
    for at in range(0, len(ops), GROUP):
        group = ops[at : at + GROUP]
        named = f"{TOGETHER}{group[0]}"
        if named in noted:
            left += group
            continue
        notes.write(Note(named, "begun"))
        right = set(passing_in_batch(group, target, dtypes))
        for op in group:
            if op in right:
                notes.write(Note(op, "fine"))
            else:
                left.append(op)
    return left


if __name__ == "__main__":
    guard.die_with_parent(int(sys.argv.pop(1)))  # without its parent, this process would disturb the next run
    main(*sys.argv[1:])
    store().close()  # write the staged code before this process ends
    os._exit(0)  # even if the framework leaves threads running
