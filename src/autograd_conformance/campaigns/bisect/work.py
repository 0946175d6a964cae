"""The task of a worker: runs one step of a bisection in a separate process, and stores its outcome.

Errors are returned, not raised, as for shards.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from autograd_conformance.campaigns.bisect.environment import UnusableEnvironment
from autograd_conformance.campaigns.bisect.outcome import Trial
from autograd_conformance.campaigns.bisect.step import Step, from_json
from autograd_conformance.campaigns.shards.texts import write_files
from autograd_conformance.campaigns.shards.work import COMMAND, TaskFailure, here, last_output, other_suite
from autograd_conformance.campaigns.storage.storage import Storage, StorageError
from autograd_conformance.processes.child import dying_with_parent, finished

OUT = "step.json"
"""The name of the file to which the step's process writes the outcome."""


@dataclass(frozen=True, slots=True)
class StepDone:
    """The outcome of running a failure's program in one version of a framework, as a worker returns it."""

    trial: Trial
    worker: str
    """The worker that ran the step, as text."""
    is_stored: bool
    """True if the outcome is in the storage."""


def try_step(step: Step, storage: Storage, suite: str) -> StepDone | TaskFailure:
    """Runs a step and stores its outcome, unless an outcome is stored already. `suite` is the digest of the suite that
    the campaign requires.

    Nothing is stored if the framework could not be loaded, as the worker may be the cause.
    """
    if (other := other_suite(suite)) is not None:
        return other
    try:
        stored = storage.read(step.name)
        if stored is not None:
            return StepDone(from_json(stored), here(), is_stored=True)
        trial = _tried(step)
        if isinstance(trial, TaskFailure) or not trial.title:
            return trial if isinstance(trial, TaskFailure) else StepDone(trial, here(), is_stored=False)
        if not storage.create(step.name, step.written(trial)):
            stored = storage.read(step.name)
            trial = trial if stored is None else from_json(stored)
        return StepDone(trial, here(), is_stored=True)
    except StorageError as error:
        return TaskFailure("storage", str(error), here())
    except ValueError as error:
        return TaskFailure(
            "storage", f"{storage.url}: {step.name}: {error}; remove it, and the step is run again", here()
        )
    except OSError as error:
        return TaskFailure("failed", f"{error.filename or ''} {error.strerror or error}".strip(), here())


def _tried(step: Step) -> Trial | TaskFailure:
    try:
        python = step.version.interpreter()
    except UnusableEnvironment as error:
        return TaskFailure("no environment", str(error), here())
    if shutil.which(python) is None:
        return TaskFailure(
            "no environment", f"the environment of {step.label} does not exist here: {python} is missing", here()
        )
    with TemporaryDirectory(prefix="autograd-conformance-") as name:
        folder, out = Path(name), Path(name) / OUT
        write_files(step.finding_files.files, folder)
        done = finished(dying_with_parent("-m", COMMAND, *step.arguments(folder, python, out)), None)
        try:
            return from_json(out.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return TaskFailure("failed", f"exit code {done.code}: {last_output(done)}", here())
