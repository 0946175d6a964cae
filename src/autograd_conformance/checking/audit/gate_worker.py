"""Runs the gates of the stages, their smallest programs, in a separate process, since a program may end or hang it.

The process notes each program before it runs, and its outcome afterwards. If the process dies, another one continues
after the program that was running.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from autograd_conformance.checking.audit.gates import GATES, gates_of
from autograd_conformance.checking.audit.notes import LOST
from autograd_conformance.checking.audit.outcome import Fault
from autograd_conformance.checking.audit.programs import as_fault
from autograd_conformance.checking.audit.worker import describe_failure
from autograd_conformance.checking.check import first_violation, is_advisory
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.environment.process_end import ENDED
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.frameworks.target import open_target
from autograd_conformance.processes.task import Notes, carry_out, read_notes
from autograd_conformance.processes.timeouts import scaled_timeout
from autograd_conformance.programs.formats.codec import to_json
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.observations import is_inconclusive
from autograd_conformance.reference.staging.cache import store
from autograd_conformance.rules.stages import waiting_for

END = "end"
"""Name in place of a stage in the note that a process writes after its last program."""


@dataclass(frozen=True, slots=True)
class Request:
    """The framework whose gates run, and how."""

    framework: str
    """The framework, by a name that `frameworks.loading.registry.load` accepts."""
    device: str
    """The device that the adapter's factory receives."""
    dtype: str
    """The dtype of the programs."""
    timeout: float
    """Time limit of one program, in seconds."""


class GateNote(NamedTuple):
    """A line of the notes: the outcome of one gate."""

    stage: str
    number: int = 0
    """Position of the gate in its stage."""
    outcome: Literal["begun", "right", "wrong", "undecided"] = "right"
    """`begun`: it runs, or the process ended while it ran. `undecided`: an error may be the adapter's, or the program
    breaks a rule of another stage.
    """
    fault: dict[str, Any] | None = None
    """The violation, or the program that is running, as JSON data."""
    seconds: float = 0.0
    """Seconds that the framework took for the program."""


def latest(notes: Iterable[Any]) -> dict[tuple[str, int], GateNote]:
    """Returns the last note of each gate, from the notes of a task."""
    return {(note.stage, note.number): note for note in (GateNote(*each) for each in notes)}


def broken_stages(notes: Iterable[GateNote]) -> dict[str, list[Fault]]:
    """Returns the stages of which several gates ran and all went wrong, each with the violations of its gates."""
    found: dict[str, list[GateNote]] = {}
    for note in notes:
        if note.stage != END:
            found.setdefault(note.stage, []).append(note)
    wrong = {stage: each for stage, each in found.items() if {note.outcome for note in each} <= {"begun", "wrong"}}
    return {
        stage: [Fault.from_json(note.fault) for note in each if note.fault is not None]
        for stage, each in wrong.items()
        if len(each) > 1
    }


def main(folder: Path, form: Mapping[str, Any]) -> None:
    """Runs the gates that have no note yet, and then writes the NumPy code that was translated from JAX to its cache on
    disk.
    """
    try:
        run_gates(folder, Request(**form))
    finally:
        store().close()


def run_gates(folder: Path, request: Request) -> None:
    """Runs the gates of each stage until one of the stage's is right. The gates of a stage that waits do not run."""
    notes, done = Notes(folder), latest(read_notes(folder))
    target = open_target(request.framework, request.device, None, request.timeout, scaled_timeout)
    for stage, gates in GATES.items():
        if stage in waiting_for(frozenset(broken_stages(done.values())) - {stage}):
            continue
        for number, program in enumerate(gates_of(stage, target, request.dtype)):
            if (stage, number) not in done:
                running = Fault(to_json(program), gates.rule, LOST)
                notes.write(GateNote(stage, number, "begun", asdict(running)))
                done[stage, number] = note = _outcome(GateNote(stage, number), program, target, running)
                notes.write(note)
            if done[stage, number].outcome == "right":
                break
    notes.write(GateNote(END))


def _outcome(note: GateNote, program: Program, target: Target, running: Fault) -> GateNote:
    """Runs a gate, and returns its note with the outcome."""
    began = time.monotonic()
    try:
        observation = target.observe(program)
    except ENDED as error:  # of the framework's own process
        return note._replace(outcome="begun", fault=asdict(replace(running, observed=error.how)))
    except AdapterError:
        return note._replace(outcome="undecided")
    took = time.monotonic() - began
    violation = first_violation(program, observation, target, is_advisory)
    if violation is not None and GATES[note.stage].is_broken_by(violation):
        return note._replace(outcome="wrong", fault=asdict(as_fault(program, violation)), seconds=took)
    is_right = violation is None and not is_inconclusive(*observation)
    return note._replace(outcome="right" if is_right else "undecided", seconds=took)


if __name__ == "__main__":
    carry_out(main, describe_failure, (Exception, AdapterError))
