"""Steps: the unit of work of a search, which is a finding's program in one version of a framework."""

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
"""The folder of the storage that verdicts are in, a folder for each finding."""


@dataclass(frozen=True, slots=True)
class FindingFiles:
    """A finding as workers are given it: a file that holds it, and those that the file includes."""

    title: str
    """The finding in a few words."""
    files: Texts
    """The files, that which holds it first."""
    number: int = 1
    """Which finding of that file it is."""


@dataclass(frozen=True, slots=True)
class Step:
    """A finding's program, in one version of a framework."""

    finding_files: FindingFiles
    framework: str
    """The framework, as ``--framework`` takes it."""
    device: str
    """The device, as ``--device`` takes it."""
    timeout: float
    """Seconds after which the program counts as hung."""
    label: str
    """The version, as the plan calls it."""
    python: str | None = None
    """The interpreter of its environment, which workers have."""
    install: tuple[str, ...] = ()
    """What workers install for it, as pip takes it, where they have no environment."""
    environments: str | None = field(default=None, compare=False)
    """Where they do that; None: in the caches of their user."""
    resources: Mapping[str, float] = field(default_factory=dict, compare=False)
    """What a worker has to offer, and how much of it the step takes."""

    @property
    def version(self) -> Version:
        """The version with its environment, for the machine that asks."""
        if self.python is not None:
            return Given(self.label, self.python)
        return Installed(self.label, self.install, Path(self.environments or environments()))

    @property
    def environment(self) -> tuple[str, str | None, tuple[str, ...]]:
        """What steps that need the same of a worker have in common."""
        return self.framework, self.python, self.install

    @property
    def target(self) -> dict[str, Any]:
        """The framework and where its program runs, as plain data."""
        return {"framework": self.framework, "device": self.device, "patience": self.timeout}

    @property
    def name(self) -> str:
        """Where its verdict is kept, within the storage."""
        finding_files = {"files": self.finding_files.files, "number": self.finding_files.number, **self.target}
        environment = {"label": self.label, "python": self.python, "install": self.install}
        folder = digest_name(f"{self.framework} {self.finding_files.title}", finding_files)
        return f"{VERDICTS}/{folder}/{digest_name(self.label, environment)}.json"

    @property
    def title(self) -> str:
        """The step in a few words."""
        return f"{self.framework} {self.label}: {self.finding_files.title}"

    def arguments(self, folder: Path, python: str, out: Path) -> list[str]:
        """Its command line, with the finding's files in a folder; what came of it is written to a file of JSON."""
        name, _ = self.finding_files.files[0]
        arguments = ["bisect", str(folder / name), "--step", f"--number={self.finding_files.number}", f"--json={out}"]
        arguments += [f"--framework={self.framework}", f"--framework-python={python}"]
        return [*arguments, f"--device={self.device}", f"--patience={self.timeout:g}"]

    def written(self, trial: Trial) -> bytes:
        """A verdict as it is kept."""
        about = {"framework": self.framework, "version": self.label, "finding": self.finding_files.title}
        return (json.dumps(about | as_json(trial)) + "\n").encode()


def as_json(trial: Trial) -> dict[str, str]:
    """What came of a step, as plain data."""
    return {"outcome": trial.outcome, "said": trial.detail, "title": trial.title}


def from_json(data: str | bytes) -> Trial:
    """What came of a step; ValueError where that is not what the data say."""
    match json.loads(data):
        case {"outcome": "bad" | "good" | "skipped" as outcome, "said": str(said), "title": str(title)}:
            return Trial(outcome, said, title)
        case _:
            raise ValueError("it is no verdict")
