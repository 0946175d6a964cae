"""Runs programs in a fresh process that has loaded the framework and run nothing else.

The process has a task, which is a `Request`. It writes one note when the framework is loaded, then one for each run of
the last program, with the rules that the run broke.
"""

from __future__ import annotations

import faulthandler
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import hypothesis

from autograd_conformance.checking.check import judgement_of, related_as
from autograd_conformance.failures.variations.confirmed_cause import possible_rules
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.environment.process_end import ENDED
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.frameworks.probing.descriptions import Description, describe_difference
from autograd_conformance.frameworks.target import open_target
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.processes.child import LOADING, environment, finished
from autograd_conformance.processes.task import (
    Notes,
    Task,
    UnwritableFiles,
    carry_out,
    naming_storage,
    refuse_unwritable,
)
from autograd_conformance.processes.timeouts import scaled_timeout
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.observations import Observation
from autograd_conformance.rules.judge.judgement import waives_everything
from autograd_conformance.rules.relations import codec as relations_codec


@dataclass(frozen=True)
class Request:
    """The programs that a fresh process runs, and the framework on which to run the programs."""

    framework: str
    """The framework, by a name that `frameworks.loading.registry.load` accepts."""
    device: str
    """The device that the adapter's factory receives."""
    counts: bool
    """True if the process counts the saved tensors that are alive, as rules about memory need."""
    timeout: float
    """Time limit of one program, in seconds."""
    before: Sequence[Mapping[str, Any]]
    """The programs that run first, once each, in their JSON form, without being judged."""
    program: Mapping[str, Any]
    """The failing program, or the pair of related programs, in JSON form."""
    runs: int
    """Number of times that the program runs."""
    printed: int = 0
    """Number of times that the program's printed code runs after the `runs` runs by the adapter's calls."""
    statement: Mapping[str, Any] | None = None
    """The description that the framework gave when it was first loaded, in JSON form; None skips the comparison with
    its description in the fresh process."""


@dataclass(frozen=True)
class Result:
    """The rules that the runs of a request broke, or the reason why there are none."""

    broken_rules: tuple[frozenset[str], ...] = ()
    """The rules that each run of the program broke. If the process ended early, there are fewer entries than requested
    runs."""
    rules_of_code: tuple[frozenset[str], ...] = ()
    """The rules that each run of the printed code broke."""
    process_ended: bool = False
    """True if a program ended the process or exceeded the timeout."""
    error: str | None = None
    """The reason why there is no result: the framework could not be loaded, or the fresh process itself failed."""


def run_in_subprocess(request: Request, variables: Mapping[str, str] | None = None) -> Result:
    """Runs a request in a fresh process; `variables` override variables of that process's environment.

    Raises `AdapterError` if the framework describes itself differently in that process.
    """
    try:
        with naming_storage(), TemporaryDirectory() as folder:
            task = Task(__name__, Path(folder), asdict(request))
            ended = finished(task.command, _time_limit(request), environment() | dict(variables or {}))
            refuse_unwritable(ended.code)
            notes, error = task.notes(), task.failure()
    except UnwritableFiles as unwritable:
        return Result(error=str(unwritable))
    if notes and notes[0]:
        raise AdapterError(notes[0])
    if error and len(notes) <= max(request.runs, 1):  # a later error, of the printed code, leaves the results valid
        return Result(error=error)
    if not notes:
        return Result(error="the process ended while the framework was loaded")
    broken_rules = tuple(map(frozenset, notes[1:]))
    return Result(
        broken_rules[: request.runs], broken_rules[request.runs :], len(broken_rules) < request.runs + request.printed
    )


def _time_limit(request: Request) -> float:
    """Returns the time limit of the whole fresh process, in seconds."""
    return scaled_timeout(LOADING + request.timeout * (len(request.before) + request.runs + request.printed))


def _broken_rules(form: Mapping[str, Any], target: Target, observe: Callable[[Program], Observation]) -> frozenset[str]:
    """Returns the rules that a program breaks, including known differences, or the rule that two related programs
    break.
    """
    if relations_codec.is_relation(form):
        related = relations_codec.from_json(form, VOCABULARY)
        violation = related_as(related, observe(related.first), observe(related.second), target).violation
        return frozenset() if violation is None else frozenset([violation.rule])
    program = codec.from_json(form, VOCABULARY)
    judgement = judgement_of(program, observe(program), target, waives_everything)
    return frozenset(rule for violation in judgement.waived for rule in possible_rules(violation))


def main(folder: Path, form: Mapping[str, Any]) -> None:
    """Runs a request. If the framework's own process ends, the missing notes show it."""
    with suppress(*ENDED):
        _run(Request(**form), Notes(folder))


def _run(request: Request, notes: Notes) -> None:
    """Runs a request. Its first note is None, or describes how the framework differs from its description."""
    target = open_target(request.framework, request.device, timeout=request.timeout, scale=scaled_timeout)
    if request.statement is not None and (
        why := describe_difference(Description.from_json(request.statement), target, "a fresh process")
    ):
        notes.write(why)
        return
    if request.counts:
        target = target.saved_tensor_counter or target
    if target.random is not None:
        hypothesis.register_random(target.random)
    notes.write(None)
    for before in request.before:
        faulthandler.dump_traceback_later(scaled_timeout(request.timeout), exit=True)
        target.observe(codec.from_json(before, VOCABULARY))
    for observe in [target.observe] * request.runs + [target.observe_printed] * request.printed:
        faulthandler.dump_traceback_later(scaled_timeout(request.timeout), exit=True)
        notes.write(sorted(_broken_rules(request.program, target, observe)))


if __name__ == "__main__":
    carry_out(main, lambda error, form: "".join(traceback.format_exception(error)))
