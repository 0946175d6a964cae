"""One step of a bisection: a finding's program in one version of a framework."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograd_conformance.campaigns.bisect.environment import Given, Installed, Version, environments
from autograd_conformance.campaigns.bisect.outcome import Trial
from autograd_conformance.campaigns.shards.texts import Texts, digest_name

VERDICTS = "verdicts"
"""The folder in the storage for the outcomes of steps, with one folder for each finding."""


@dataclass(frozen=True, slots=True)
class FindingFiles:
    """A finding in the form in which workers receive it: the file that contains it, and the files which that file
    includes.
    """

    title: str
    """A short title of the finding: "gradients/op, op tanh (tanh.json)"."""
    files: Texts
    """The files, of which the first contains the finding."""
    number: int = 1
    """The number of the finding in its file, counted from 1."""


@dataclass(frozen=True, slots=True)
class Step:
    """The task to run a finding's program in one version of a framework."""

    finding_files: FindingFiles
    framework: str
    """The framework, as ``--framework`` takes it."""
    device: str
    """The device, as ``--device`` takes it."""
    timeout: float
    """Time limit of the program in seconds."""
    label: str
    """The version's name in the plan."""
    python: str | None = None
    """The interpreter of the version's environment, if workers already have one."""
    install: tuple[str, ...] = ()
    """If `python` is None, the requirements that workers install with pip."""
    environments: str | None = field(default=None, compare=False)
    """The folder on the workers for environments that pip makes; None is the user's cache."""
    resources: Mapping[str, float] = field(default_factory=dict, compare=False)
    """The amount of each resource that the step occupies on a worker, such as ``{"GPU": 1}``."""

    @property
    def version(self) -> Version:
        """The version with its environment on this machine."""
        if self.python is not None:
            return Given(self.label, self.python)
        return Installed(self.label, self.install, Path(self.environments or environments()))

    @property
    def environment(self) -> tuple[str, str | None, tuple[str, ...]]:
        """A key that is equal for steps that need the same environment."""
        return self.framework, self.python, self.install

    @property
    def target(self) -> dict[str, Any]:
        """The framework, the device and the timeout, as plain data."""
        return {"framework": self.framework, "device": self.device, "patience": self.timeout}

    @property
    def name(self) -> str:
        """The name in the storage of the file for the step's outcome."""
        finding_files = {"files": self.finding_files.files, "number": self.finding_files.number, **self.target}
        environment = {"label": self.label, "python": self.python, "install": self.install}
        folder = digest_name(f"{self.framework} {self.finding_files.title}", finding_files)
        return f"{VERDICTS}/{folder}/{digest_name(self.label, environment)}.json"

    @property
    def title(self) -> str:
        """A short title of the step: "autograd 1.7.0: gradients/op, op tanh (tanh.json)"."""
        return f"{self.framework} {self.label}: {self.finding_files.title}"

    def arguments(self, folder: Path, python: str, out: Path) -> list[str]:
        """Returns the command line of the step. `folder` contains the finding's files; the outcome is written to `out`
        as JSON.
        """
        name, _ = self.finding_files.files[0]
        arguments = ["bisect", str(folder / name), "--step", f"--number={self.finding_files.number}", f"--json={out}"]
        arguments += [f"--framework={self.framework}", f"--framework-python={python}"]
        return [*arguments, f"--device={self.device}", f"--patience={self.timeout:g}"]

    def written(self, trial: Trial) -> bytes:
        """Returns the content of the stored file for a trial of the step."""
        about = {"framework": self.framework, "version": self.label, "finding": self.finding_files.title}
        return (json.dumps(about | as_json(trial)) + "\n").encode()


def as_json(trial: Trial) -> dict[str, str]:
    """Returns a trial as plain data."""
    return {"outcome": trial.outcome, "said": trial.detail, "title": trial.title}


def from_json(data: str | bytes) -> Trial:
    """Reads a trial from JSON. Raises ValueError if the data is not a trial."""
    match json.loads(data):
        case {"outcome": "bad" | "good" | "skipped" as outcome, "said": str(detail), "title": str(title)}:
            return Trial(outcome, detail, title)
        case _:
            raise ValueError("it does not hold a verdict")
