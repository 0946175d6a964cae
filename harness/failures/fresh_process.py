"""A process of its own for one program, or for several one after the other: the framework is loaded, nothing else ran.

`python -m autograd_conformance.harness.failures.fresh_process FILE` is that process. FILE says what is to run; which
rules each run of the last program broke is written beside it, a line for each.
"""

from __future__ import annotations

import faulthandler
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import hypothesis

from autograd_conformance.frameworks.base import Target
from autograd_conformance.frameworks.target import InProcess, loaded
from autograd_conformance.harness.check import judged, related_as
from autograd_conformance.ops.catalogue import VOCABULARY
from autograd_conformance.programs import codec
from autograd_conformance.rules.judge.violation import Violation
from autograd_conformance.rules.relations import codec as relations_codec

START = 120.0
"""Seconds that a process may take besides those of its programs: to load the framework and the reference."""


@dataclass(frozen=True)
class Asked:
    """What a process is asked to run."""

    framework: str
    """The framework, as `frameworks.registry.load` finds it."""
    device: str
    """The device that the adapter's factory is given."""
    counts: bool
    """Whether it is to count saved tensors."""
    patience: float
    """Seconds that a program may take."""
    before: Sequence[Mapping[str, Any]]
    """The programs that run first, once each, in their JSON form."""
    program: Mapping[str, Any]
    """The program, or two that are related, in JSON form."""
    runs: int
    """How often it runs."""


@dataclass(frozen=True)
class Answer:
    """What came of it."""

    broken: tuple[frozenset[str], ...]
    """The rules that each run broke; fewer than were asked for where the process ended before."""
    ended: bool
    """Whether the process ended, or did not come back, before all had run."""


def ask(asked: Asked) -> Answer:
    """Run programs in a process of their own."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "asked.json"
        path.write_text(json.dumps(asdict(asked)), encoding="utf-8")
        finished(["-m", __name__, str(path)], asked.patience * (len(asked.before) + asked.runs) + START, Path(folder))
        answers = path.with_suffix(".answers")
        lines = answers.read_text(encoding="utf-8").split("\n")[:-1] if answers.exists() else []
    return Answer(tuple(frozenset(json.loads(line)) for line in lines), len(lines) < asked.runs)


def finished(arguments: Sequence[str], seconds: float, folder: Path) -> tuple[int | None, str, str]:
    """Run Python with some arguments: the exit code, None where it took longer; what it printed; what it complained.

    Output goes into files: processes that a framework leaves would hold a pipe open, and this one with it.
    """
    out, err = folder / "stdout", folder / "stderr"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with out.open("wb") as printed, err.open("wb") as complained:
        process = subprocess.Popen(
            [sys.executable, *arguments], env=environment, stdin=subprocess.DEVNULL, stdout=printed, stderr=complained
        )
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            process.kill()
            process.wait()
    return code, *(file.read_text(encoding="utf-8", errors="replace") for file in (out, err))  # type: ignore[return-value]


def _broken(form: Mapping[str, Any], target: Target) -> frozenset[str]:
    """The rules that a program breaks, those that are known, too; or the one that two related programs break."""
    if relations_codec.is_relation(form):
        related = relations_codec.from_json(form, VOCABULARY)
        violation = related_as(related, target.observe(related.first), target.observe(related.second), target).violation
        return frozenset() if violation is None else frozenset([violation.rule])
    program, found = codec.from_json(form, VOCABULARY), set()

    def excuses(violation: Violation) -> bool:
        found.add(violation.rule)
        return True

    judged(program, target.observe(program), target, excuses)
    return frozenset(found)


def main(path: Path) -> None:
    """Run what a file asks for."""
    asked = Asked(**json.loads(path.read_text(encoding="utf-8")))
    target: Target = InProcess(loaded(asked.framework, asked.device))
    if asked.counts:
        target = target.saved_tensor_counter or target
    if target.random is not None:
        hypothesis.register_random(target.random)
    with path.with_suffix(".answers").open("w", encoding="utf-8") as answers:
        for form in asked.before:
            faulthandler.dump_traceback_later(asked.patience, exit=True)
            target.observe(codec.from_json(form, VOCABULARY))
        for _ in range(asked.runs):
            faulthandler.dump_traceback_later(asked.patience, exit=True)
            rules = _broken(asked.program, target)
            print(json.dumps(sorted(rules)), file=answers, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    os._exit(0)  # whatever threads the framework leaves
