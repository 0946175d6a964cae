"""The environments of framework versions: existing interpreters, or virtual environments that are made when needed."""

from __future__ import annotations

import hashlib
import shutil
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from autograd_conformance.frameworks.environment.caches import caches
from autograd_conformance.processes.child import dying_with_parent, finished
from autograd_conformance.reporting.prose import shortened

PLACEHOLDER = "{}"
"""Placeholder for the version in requirements and paths."""

MARKER = "made"
"""The name of the file in an environment that marks its installation as complete."""

REQUIRED = "numpy"
"""The requirement that pip installs in each environment besides the framework."""


def environments() -> Path:
    """Returns the default folder of environments, in the user's cache."""
    return caches() / "environments"


class UnusableEnvironment(Exception):
    """An environment could not be made; the message says why."""


@dataclass(frozen=True, slots=True)
class Given:
    """A framework version in an environment that the user made."""

    label: str
    """The user's name for the version, such as ``2.9``."""
    python: str
    """The path of the environment's interpreter."""

    def interpreter(self) -> str:
        """Returns the path of the environment's interpreter."""
        return self.python


@dataclass(frozen=True, slots=True)
class Installed:
    """A framework version that pip installs into a separate virtual environment when the version is first needed. The
    environment is kept.
    """

    label: str
    """The version, which replaces `{}` in the requirements."""
    requirements: tuple[str, ...]
    """The requirements that pip installs: ``autograd=={}``."""
    folder: Path
    """The folder that contains all environments."""

    def interpreter(self) -> str:
        """Returns the path of the environment's interpreter; makes the environment if it does not exist. Raises
        `UnusableEnvironment`.
        """
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
    """Returns the label as part of a file name, with other characters than letters, digits, ``.`` and ``+`` as
    ``-``.
    """
    return "".join(letter if letter.isalnum() or letter in ".+" else "-" for letter in label)[:40].strip("-.")


def _make(place: Path, python: Path, needs: Sequence[str]) -> None:
    """Makes an environment in a folder that may contain an incomplete one, and installs `needs` into it."""
    shutil.rmtree(place, ignore_errors=True)
    venv.create(place, with_pip=True)
    words = [str(python), "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", REQUIRED, *needs]
    done = finished(dying_with_parent(*words), None)  # else pip would continue in a folder that the next worker empties
    if done.code:
        lines = [line for line in done.errors.splitlines() if line.startswith("ERROR:")]
        message = lines[-1].removeprefix("ERROR: ") if lines else done.errors
        raise UnusableEnvironment(shortened(f"pip install {' '.join(needs)}: {message}", 300))
    (place / MARKER).touch()
