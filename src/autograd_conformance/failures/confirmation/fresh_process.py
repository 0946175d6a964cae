"""A process of its own for one program, or for several one after the other: the framework is loaded, nothing else ran.

`python -m autograd_conformance.failures.confirmation.fresh_process FILE` is that process. FILE says what is to run;
which rules each run of the last program broke is written beside it, a line for each.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import hypothesis

from autograd_conformance.checking.check import first_violation, related_as
from autograd_conformance.failures.variations.confirmed_cause import possible_rules
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.frameworks.environment.process_end import ENDED
from autograd_conformance.frameworks.probing.descriptions import Description, describe_difference
from autograd_conformance.frameworks.registry import AdapterError
from autograd_conformance.frameworks.target import open_target
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.processes.child import LOADING, finished
from autograd_conformance.processes.timeouts import stretched
from autograd_conformance.programs.formats import codec
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.observations import Observation
from autograd_conformance.rules.relations import codec as relations_codec
from autograd_conformance.rules.violations.violation import Violation


@dataclass(frozen=True)
class Request:
    """What a process is asked to run."""

    framework: str
    """The framework, as `frameworks.registry.load` finds it."""
    device: str
    """The device that the adapter's factory is given."""
    counts: bool
    """Whether it is to count saved tensors."""
    timeout: float
    """Seconds that a program may take."""
    before: Sequence[Mapping[str, Any]]
    """The programs that run first, once each, in their JSON form."""
    program: Mapping[str, Any]
    """The program, or two that are related, in JSON form."""
    runs: int
    """How often it runs."""
    printed: int = 0
    """How often its printed code runs after that, in place of the adapter's calls."""
    statement: Mapping[str, Any] | None = None
    """What the framework said of itself where it was loaded first, in JSON form."""


@dataclass(frozen=True)
class Result:
    """What came of it."""

    broken_rules: tuple[frozenset[str], ...] = ()
    """The rules that each run broke; fewer than were asked for where the process ended before."""
    rules_of_code: tuple[frozenset[str], ...] = ()
    """The same of the runs of the printed code."""
    process_ended: bool = False
    """Whether a program ended the process, or did not come back."""
    error: str | None = None
    """Why nothing can be said: the framework could not be loaded, or the process itself went wrong."""


def run_in_subprocess(request: Request, variables: Mapping[str, str] | None = None) -> Result:
    """Run programs in a process of their own, in whose environment some variables are set otherwise. Raises
    `AdapterError` where the framework says other things of itself there.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / "request.json"
        path.write_text(json.dumps(asdict(request)), encoding="utf-8")
        finished(["-m", __name__, str(path)], _time_limit(request), Path(folder), variables=variables)
        notes = _log_path(path)
        lines = notes.read_text(encoding="utf-8").split("\n")[:-1] if notes.exists() else []
        error = _error_path(path)
        if _difference_path(path).exists():
            raise AdapterError(_difference_path(path).read_text(encoding="utf-8"))
        if error.exists() and len(lines) <= max(request.runs, 1):  # the printed code takes back nothing of the calls
            return Result(error=error.read_text(encoding="utf-8"))
    if not lines:
        return Result(error="the process ended while the framework was loaded")
    broken_rules = tuple(frozenset(json.loads(line)) for line in lines[1:])
    return Result(
        broken_rules[: request.runs], broken_rules[request.runs :], len(broken_rules) < request.runs + request.printed
    )


def _time_limit(request: Request) -> float:
    """Seconds that a process may take for what it is asked."""
    return stretched(LOADING + request.timeout * (len(request.before) + request.runs + request.printed))


def _log_path(path: Path) -> Path:
    """Where a process that was asked something writes: a line when the framework is loaded, and one for each run."""
    return path.with_suffix(".notes")


def _error_path(path: Path) -> Path:
    """Where it writes what went wrong in itself."""
    return path.with_suffix(".failed")


def _difference_path(path: Path) -> Path:
    """Where it writes how the framework differs from what it said of itself before."""
    return path.with_suffix(".unlike")


def _broken_rules(form: Mapping[str, Any], target: Target, observe: Callable[[Program], Observation]) -> frozenset[str]:
    """The rules that a program breaks, those that are known, too; or the one that two related programs break."""
    if relations_codec.is_relation(form):
        related = relations_codec.from_json(form, VOCABULARY)
        violation = related_as(related, observe(related.first), observe(related.second), target).violation
        return frozenset() if violation is None else frozenset([violation.rule])
    program, found = codec.from_json(form, VOCABULARY), set[str]()

    def waives(violation: Violation) -> bool:
        found.update(possible_rules(violation))
        return True

    first_violation(program, observe(program), target, waives)
    return frozenset(found)


def main(path: Path) -> None:
    """Run what a file asks for."""
    try:
        _run(path)
    except ENDED:  # the process elsewhere: that no more is noted says so
        pass
    except Exception:  # ours, or the adapter's: what the framework raises is observed
        _error_path(path).write_text(traceback.format_exc(), encoding="utf-8")


def _run(path: Path) -> None:
    request = Request(**json.loads(path.read_text(encoding="utf-8")))
    target = open_target(request.framework, request.device, timeout=request.timeout, scale=stretched)
    if request.statement is not None and (
        why := describe_difference(Description.from_json(request.statement), target, "a process of its own")
    ):
        _difference_path(path).write_text(why, encoding="utf-8")
        return
    if request.counts:
        target = target.saved_tensor_counter or target
    if target.random is not None:
        hypothesis.register_random(target.random)
    with _log_path(path).open("w", encoding="utf-8") as notes:
        print(json.dumps("loaded"), file=notes, flush=True)
        for form in request.before:
            faulthandler.dump_traceback_later(stretched(request.timeout), exit=True)
            target.observe(codec.from_json(form, VOCABULARY))
        for observe in [target.observe] * request.runs + [target.observe_printed] * request.printed:
            faulthandler.dump_traceback_later(stretched(request.timeout), exit=True)
            rules = _broken_rules(request.program, target, observe)
            print(json.dumps(sorted(rules)), file=notes, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    os._exit(0)  # whatever threads the framework leaves
