"""The environments of a framework's versions: interpreters that are there, or that are made when they are needed."""

from __future__ import annotations

import hashlib
import shutil
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from filelock import FileLock

from autograd_conformance.frameworks.environment.caches import caches
from autograd_conformance.processes.child import finished
from autograd_conformance.processes.die_with_parent import dying_with_parent
from autograd_conformance.reporting.prose import shortened

PLACEHOLDER = "{}"
"""What stands for the version in what is to be installed."""

MARKER = "made"
"""The file in an environment that says that all was installed there."""

REQUIRED = "numpy"
"""What every environment needs beside the framework."""


def environments() -> Path:
    """Where environments are made, unless it is said otherwise: the user's caches."""
    return caches() / "environments"


class UnusableEnvironment(Exception):
    """An environment that could not be made; the message says why."""


@dataclass(frozen=True, slots=True)
class Given:
    """A version whose environment is there."""

    label: str
    """What the user calls it."""
    python: str
    """Its interpreter."""

    def interpreter(self) -> str:
        """The interpreter."""
        return self.python


@dataclass(frozen=True, slots=True)
class Installed:
    """A version that is installed, when it is needed, into an environment of its own, which stays."""

    label: str
    """The version, which takes the place of `{}` in the requirements."""
    requirements: tuple[str, ...]
    """What is installed, as pip takes it."""
    folder: Path
    """Where environments are."""

    def interpreter(self) -> str:
        """The interpreter of the environment, which is made unless it is there; `UnusableEnvironment`."""
        needs = [each.replace(PLACEHOLDER, self.label) for each in self.requirements]
        about = "\n".join([sys.version, *needs])
        place = self.folder / f"{_named(self.label)}-{hashlib.sha256(about.encode()).hexdigest()[:8]}"
        python = place / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with FileLock(place.with_name(f"{place.name}.lock")):
                if not (place / MARKER).exists():
                    _make(place, python, needs)
        except OSError as error:
            raise UnusableEnvironment(f"{place}: {error.strerror or error}") from None
        return str(python)


Version = Given | Installed


def _named(label: str) -> str:
    """A label as part of a file's name."""
    return "".join(letter if letter.isalnum() or letter in ".+" else "-" for letter in label)[:40].strip("-.")


def _make(place: Path, python: Path, needs: Sequence[str]) -> None:
    """Make an environment in a folder, where half a one may be."""
    shutil.rmtree(place, ignore_errors=True)
    venv.create(place, with_pip=True)
    with TemporaryDirectory() as folder:
        words = ["-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", REQUIRED, *needs]
        command, *before = dying_with_parent(str(python))  # an orphan would go on where the next worker begins anew
        done = finished([*before, *words], None, Path(folder), (command,))
    if done.code:
        lines = [line for line in done.errors.splitlines() if line.startswith("ERROR:")]
        said = lines[-1].removeprefix("ERROR: ") if lines else done.errors
        raise UnusableEnvironment(shortened(f"pip install {' '.join(needs)}: {said}", 300))
    (place / MARKER).touch()
