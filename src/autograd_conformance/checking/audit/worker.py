"""Runs each op alone in a separate process, the audit, so that an op that crashes or hangs counts as one more faulty
op.

The process notes each op before it runs, and its outcome afterwards. If the process dies, the op that it had begun is
lost, and another process continues with the next op. An op that passes is then differentiated twice, and if that passes
too, three times, except with the profile `quick`.
"""

from __future__ import annotations

import errno
import faulthandler
import math
import os
import traceback
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

from autograd_conformance.checking.audit.batches import GROUP, passing_in_batch
from autograd_conformance.checking.audit.notes import (
    CONTRACT,
    END,
    PROGRAMS,
    TOGETHER,
    Note,
    OpNotes,
    latest,
    programs_run,
)
from autograd_conformance.checking.audit.programs import outcomes
from autograd_conformance.checking.known_answers import judge_error
from autograd_conformance.checking.soundness import contracts
from autograd_conformance.checking.soundness.contracts import Faults
from autograd_conformance.checking.support.alphabet import alphabet_of
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.environment.process_end import ENDED
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.frameworks.probing.descriptions import Description, describe_difference
from autograd_conformance.frameworks.remote.command import parse
from autograd_conformance.frameworks.target import open_target
from autograd_conformance.processes.child import CLOSED, LOADING
from autograd_conformance.processes.task import carry_out, read_notes
from autograd_conformance.processes.timeouts import scaled_timeout
from autograd_conformance.programs.foreign.text import message, type_of
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.own_numpy import rebound_note
from autograd_conformance.reference.staging.cache import store
from autograd_conformance.strategies.building import alphabet

PLACES = 4
"""Number of frames of a traceback that an error message names."""

FEW = 4
"""Number of ops in a batch if a single program takes long."""

USUAL = (
    "multiply", "add", "sum", "exp", "negative", "subtract", "sin", "mean", "matmul", "mm", "relu", "tanh", "sigmoid",
    "divide", "reshape", "transpose", "log", "sqrt", "cos", "square", "add_scalar", "clone",
)  # fmt: skip
"""Ops that come first if a single program takes long: those that drawn programs need most."""

SPENT = 94
"""Exit code of an audit process that used up the run's budget of programs."""


@dataclass(frozen=True, slots=True)
class Request:
    """A part of the audit, which runs each op alone."""

    framework: str
    """The framework, by a name that `frameworks.loading.registry.load` accepts."""
    device: str
    """The device that the adapter's factory receives."""
    dtypes: Sequence[str]
    """The dtypes of the programs."""
    timeout: float
    """Time limit of one op, or of each program if compiling is expensive, in seconds."""
    thrice: bool
    """Whether ops are differentiated three times."""
    programs: int | None
    """Largest number of programs of the part; None means no limit."""
    but: Sequence[str]
    """The ops that are left out."""
    description: Mapping[str, Any] | None
    """The framework's description from the main process, in JSON form; None skips the comparison."""
    number: int = 0
    """Index of the part: part 0 of 2 has every second op, from the first."""
    shares: int = 1
    """Number of parts."""
    slow: bool = False
    """Whether a single program takes so long that ops run in small batches, the usual ops first, in one dtype."""


class Counting:
    """Counts the programs of one part of the audit, which runs each op alone, and ends the process if there are too
    many. Later processes of the same part continue the count.
    """

    def __init__(self, folder: Path, most: float) -> None:
        self.path, self.most = folder / PROGRAMS, most
        self.counts = True
        self.programs = programs_run(folder)

    def before(self, program: Program) -> None:
        """Counts a program that is about to run; ends the process with `SPENT` if the program is one too many."""
        self.programs += self.counts
        if self.programs > self.most:
            os._exit(SPENT)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Counts no programs inside."""
        self.counts = False
        yield
        self.counts = True

    def keep(self) -> None:
        """Stores the count for a later process of the same part."""
        self.path.write_text(str(self.programs))


def main(folder: Path, form: Mapping[str, Any]) -> None:
    """Runs one part of the audit, and then writes the NumPy code that was translated from JAX to its cache on disk."""
    try:
        audit_share(folder, Request(**form))
    finally:
        store().close()


def audit_share(folder: Path, request: Request) -> None:
    """Runs those ops of one part of the audit alone that have no note yet and are not left out by the request."""
    dtypes = tuple(request.dtypes)
    noted = latest(read_notes(folder))
    notes = OpNotes(folder)
    counting = Counting(folder, math.inf if request.programs is None else request.programs)
    limit = request.timeout if parse(request.framework) is None else request.timeout * 1.5 + LOADING
    in_batches = False

    def before(program: Program) -> None:
        counting.before(program)
        notes.before(program)
        if in_batches:  # an op, or a batch, may compile several regions, and has this time for each
            faulthandler.dump_traceback_later(scaled_timeout(limit), exit=True)

    target = open_target(request.framework, request.device, before, request.timeout, scaled_timeout)
    if request.description is not None and (
        why := describe_difference(Description.from_json(request.description), target, "the audit")
    ):
        raise AdapterError(why)
    in_batches = target.programs_each > 0 or request.slow
    everything = alphabet_of(target, dtypes)
    alphabet.use(everything)
    faults = Faults(folder)
    if request.number == 0 and not in_batches:
        with counting.paused():
            call_methods(target, notes, noted, faults, scaled_timeout(limit))
        faults.refuse()  # before the ops spend the run's time
    left_out = {*noted, *request.but}
    ops = [op for op in everything.ops[request.number :: request.shares] if op not in left_out]
    if request.slow:
        ops = together(_usual_first(ops), target, dtypes[:1], notes, noted, FEW)
        counting.keep()
    elif in_batches:
        ops = together(ops, target, dtypes, notes, noted)
    for op in takewhile(lambda _: not faults.are_many, ops):
        faulthandler.dump_traceback_later(scaled_timeout(limit), exit=True)
        notes.write(Note(op, "begun"))
        with suppress(*ENDED), faults:  # if the framework's own process ended, the op is lost, and the audit continues
            for outcome, fault in outcomes(op, target, dtypes, request.thrice):
                notes.write(Note(op, outcome, fault=None if fault is None else asdict(fault)))
        counting.keep()
    faults.refuse()
    if why := judge_error():
        raise AdapterError(f"{target.name}: {why}")
    notes.write(Note(END, "fine"))


def call_methods(target: Target, notes: OpNotes, noted: Collection[str], faults: Faults, seconds: float) -> None:
    """Runs the smallest program of each capability, and collects the faults of the adapter's methods. A program that
    ended a process, which has a note, does not run again.
    """
    for capability, program in contracts.programs(target):
        if f"{CONTRACT}{capability}" not in noted:
            faulthandler.dump_traceback_later(seconds, exit=True)
            notes.write(Note(f"{CONTRACT}{capability}", "begun"))
            with suppress(*ENDED), faults:
                target.observe(program)


def describe_failure(error: BaseException, form: Mapping[str, Any]) -> str:
    """Describes why the audit itself failed. Such a failure says nothing about the ops."""
    match error:
        case AdapterError():
            return str(error)
        case OSError(errno=errno.EBADF):
            return f"{form['framework']}: {CLOSED}"
        case _:
            return f"the audit of the ops failed: {describe_error(error)}"


def describe_error(error: BaseException) -> str:
    """Returns an error of the audit itself on one line, with the innermost frames of its traceback."""
    frames = traceback.extract_tb(error.__traceback__)[-PLACES:]
    places = ", ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))
    return " ".join(f"{type_of(error)}: {message(error)} ({places}){rebound_note()}".split())


def _usual_first(ops: Sequence[str]) -> list[str]:
    """Returns the ops in an order in which the most usual ones come first."""
    return [*(op for op in USUAL if op in ops), *(op for op in ops if op not in USUAL)]


def together(
    ops: Sequence[str],
    target: Target,
    dtypes: Sequence[str],
    notes: OpNotes,
    noted: Collection[str],
    most: int = GROUP,
) -> list[str]:
    """Runs ops in batches of at most `most`, and returns those that have to run alone. If a batch ended a process, all
    ops of the batch have to.
    """
    left: list[str] = []
    for at in range(0, len(ops), most):
        group = ops[at : at + most]
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
    carry_out(main, describe_failure, (Exception, AdapterError))
