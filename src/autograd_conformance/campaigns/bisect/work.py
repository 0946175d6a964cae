"""What a worker does for a search: run a step in a process of its own, and keep its verdict.

What went wrong is an answer, not an exception, as with shards.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from autograd_conformance.campaigns.bisect.environment import NotMade
from autograd_conformance.campaigns.bisect.outcome import Trial
from autograd_conformance.campaigns.bisect.step import Step, from_json
from autograd_conformance.campaigns.shards.texts import put
from autograd_conformance.campaigns.shards.work import PROCESS, NotDone, here, other_suite, told
from autograd_conformance.campaigns.storage.storage import Storage, StorageError
from autograd_conformance.processes.child import finished

OUT = "step.json"
"""The file that a step's process writes."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A step that came to its end."""

    trial: Trial
    worker: str
    """Where."""
    kept: bool
    """Whether the storage has it."""


def try_step(step: Step, storage: Storage, suite: str) -> Tried | NotDone:
    """Run a step, unless its verdict is there, and keep that; `suite` is the digest that the suite has to have.

    Where the framework could not be loaded, nothing is kept: that may be a matter of the worker.
    """
    if (other := other_suite(suite)) is not None:
        return other
    try:
        there = storage.read(step.name)
        if there is not None:
            return Tried(from_json(there), here(), kept=True)
        trial = _tried(step)
        if isinstance(trial, NotDone) or not trial.title:
            return trial if isinstance(trial, NotDone) else Tried(trial, here(), kept=False)
        if not storage.create(step.name, step.written(trial)):
            there = storage.read(step.name)
            trial = trial if there is None else from_json(there)
        return Tried(trial, here(), kept=True)
    except StorageError as error:
        return NotDone("storage", str(error), here())
    except ValueError as error:
        return NotDone("storage", f"{storage.url}: {step.name}: {error}; remove it, and the step is run again", here())
    except OSError as error:
        return NotDone("failed", f"{error.filename or ''} {error.strerror or error}".strip(), here())


def _tried(step: Step) -> Trial | NotDone:
    try:
        python = step.version.interpreter()
    except NotMade as error:
        return NotDone("lacking", str(error), here())
    if shutil.which(python) is None:
        return NotDone("lacking", f"the environment of {step.label} is not here: there is no {python}", here())
    with TemporaryDirectory(prefix="autograd-conformance-") as name:
        folder, out = Path(name), Path(name) / OUT
        put(step.sought.files, folder)
        done = finished(["-m", PROCESS, str(os.getpid()), *step.words(folder, python, out)], None, folder)
        try:
            return from_json(out.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return NotDone("failed", f"exit code {done.code}: {told(done)}", here())
