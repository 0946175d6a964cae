"""The settings of one process, from pytest's command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from autograd_conformance.checking.limits import UNLIMITED, Limits
from autograd_conformance.frameworks.remote.command import parse
from autograd_conformance.processes.child import LOADING
from autograd_conformance.processes.journal import TIMEOUT
from autograd_conformance.programs.language import DTYPES


@dataclass(frozen=True)
class Settings:
    """The framework to test, and the options of the run."""

    name: str
    """The framework, in the form that `frameworks.target.open_target` accepts."""
    folder: Path = Path()
    """Folder of the report."""
    dtypes: tuple[str, ...] = DTYPES
    """The requested dtypes of programs. The framework may support fewer."""
    device: str = "cpu"
    """The device for the adapter's factory."""
    worker: str = "main"
    """Name of this process among pytest-xdist's workers."""
    timeout: float = TIMEOUT
    """Seconds after which a program counts as hung."""
    seed: int | None = None
    """The seed that programs are drawn with."""
    start: Path = field(default_factory=Path.cwd)
    """Folder in which the run was started; printed commands are relative to it."""
    known_files: tuple[Path, ...] = ()
    """The user's files of known differences, which replace the file that comes with the suite."""
    update: Path | None = None
    """File of known differences to which the run adds violations. The entries that it already has are known."""
    strict: bool = False
    """Whether violated SHOULD rules and stale known differences fail the run."""
    options: tuple[str, ...] = ()
    """The options that name the framework on a command line, if `name` is not the user's own text."""
    confirms: int = 0
    """Number of failures that this process may confirm in a separate process."""
    limits: Limits = UNLIMITED
    """The limits of the whole run."""

    @property
    def watchdog(self) -> float:
        """Seconds after which this process is ended. If the framework has its own process, that one is ended first."""
        return watchdog(self.timeout, parse(self.name) is not None)


def watchdog(timeout: float, served: bool) -> float:
    """Seconds after which a process that runs programs is ended. `served`: the framework has its own process, which is
    ended first.
    """
    return timeout * 1.5 + LOADING if served else timeout
