"""Runs the steps of a check in a separate process, since a framework may end or hang it.

The process notes each part of a step before it begins, and what the step found afterwards. If the process ends, another
one continues after the step that was running.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from autograd_conformance.authoring.check import Blame, Checked, Remark, about_claims, as_code, checked, steps
from autograd_conformance.checking.counts.remarks import Remarks
from autograd_conformance.frameworks.environment.devices import Device
from autograd_conformance.frameworks.loading.registry import AdapterError, UnknownFramework
from autograd_conformance.frameworks.target import open_target
from autograd_conformance.known_differences import MalformedKnownDifferences, known, read
from autograd_conformance.known_differences.applicable import applicable
from autograd_conformance.processes.task import Notes, carry_out, read_notes
from autograd_conformance.processes.timeouts import scaled_timeout
from autograd_conformance.programs.foreign.text import message, type_of
from autograd_conformance.reference.staging.cache import store

LOADED, END = -1, -2
"""Numbers in place of a step's in the notes that a process writes when the framework is loaded, and at the end."""


@dataclass(frozen=True, slots=True)
class Request:
    """The framework to check."""

    framework: str
    """The framework, by a name that `frameworks.loading.registry.load` accepts."""
    device: str
    """The device that the adapter's factory receives."""
    known: Sequence[str]
    """The files of known differences; if there are none, those of the suite count."""
    timeout: float
    """Time limit of one program of a framework that has a separate process, in seconds."""


class StepNote(NamedTuple):
    """A line of the notes: a part of a step that begins, or what the step found."""

    number: int
    """Position of the step in the check; `LOADED` or `END`."""
    about: str = ""
    """The op, capability or form of the step; the framework's name and version with `LOADED`."""
    running: str = ""
    """The part of the step that begins; empty if the step is over."""
    code: str = ""
    """The program that runs, as code."""
    found: dict[str, Any] | None = None
    """The results of the step, as JSON data."""


def latest(notes: Iterable[Any]) -> dict[int, StepNote]:
    """Returns the last note of each step, from the notes of a task."""
    return {note.number: note for note in (StepNote(*each) for each in notes)}


def main(folder: Path, form: Mapping[str, Any]) -> None:
    """Runs the steps that have no note yet, and then writes the NumPy code that was translated from JAX to its cache on
    disk.
    """
    try:
        run_steps(folder, Request(**form))
    finally:
        store().close()


def run_steps(folder: Path, request: Request) -> None:
    """Runs the steps of a check that have no note yet."""
    notes, done = Notes(folder), latest(read_notes(folder))
    target = open_target(request.framework, request.device, None, request.timeout, scaled_timeout)
    files = [entry for path in request.known for entry in read(Path(path))]
    entries, device = files if request.known else known(target.name), Device.named(request.device).name
    listed = applicable(entries, target.name, target.version, device)
    claims = Checked("", tuple(about_claims(target)))
    notes.write(StepNote(LOADED, f"{target.name} {target.version}", found=to_json(claims)))
    for number, step in enumerate(steps(target)):
        if number in done:
            continue
        begun = StepNote(number, step.about, code=as_code(step.program, target))

        def note(part: str, begun: StepNote = begun) -> None:
            notes.write(begun._replace(running=part))

        notes.write(begun._replace(found=to_json(checked(step, target, listed, note))))
    notes.write(StepNote(END))


def to_json(found: Checked) -> dict[str, Any]:
    """Returns what a step found as JSON data."""
    remarks = [[each.blame.value, each.about, each.text, each.program] for each in found.remarks]
    return {"about": found.about, "remarks": remarks, "errors": found.errors.to_json(), "seconds": found.seconds}


def from_json(form: Mapping[str, Any]) -> Checked:
    """Returns what a step found, from the JSON data that `to_json` made."""
    remarks = tuple(Remark(Blame(blame), *rest) for blame, *rest in form["remarks"])
    return Checked(form["about"], remarks, Remarks.from_json(form["errors"]), form["seconds"])


USAGE, ADAPTER = "usage: ", "adapter: "
"""The beginnings of the reasons why a check failed: of wrong usage, and of an adapter that cannot be loaded."""


def describe_failure(error: BaseException, form: Mapping[str, Any]) -> str:
    """Describes why the check itself failed."""
    match error:
        case AdapterError():
            return f"{ADAPTER}{error}"
        case UnknownFramework() | MalformedKnownDifferences():
            return f"{USAGE}{error}"
        case _:
            return f"{ADAPTER}the check failed: {type_of(error)}: {message(error)}"


if __name__ == "__main__":
    carry_out(main, describe_failure, (Exception, AdapterError))
