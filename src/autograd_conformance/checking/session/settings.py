"""The settings of one process, from pytest's command line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from autograd_conformance.checking.limits import UNLIMITED, Limits
from autograd_conformance.checking.skip_list import NO_SKIPS, Skips
from autograd_conformance.frameworks.remote.command import parse
from autograd_conformance.processes.child import LOADING
from autograd_conformance.processes.journal import TIMEOUT
from autograd_conformance.programs.dtypes import USUAL


@dataclass(frozen=True)
class Settings:
    """The framework to test, and the options of the run."""

    name: str
    """The framework, such as "torch" or "package.module:factory", in a form that `frameworks.target.open_target`
    accepts.
    """
    folder: Path = Path()
    """Folder of the report."""
    dtypes: tuple[str, ...] = USUAL
    """The requested dtypes of programs. The framework may support fewer."""
    device: str = "cpu"
    """Name of the device that the adapter's factory gets, such as "cpu" or "cuda"."""
    worker: str = "main"
    """Name of this process: "main", or that of a worker of pytest-xdist, such as "gw0"."""
    timeout: float = TIMEOUT
    """Seconds after which a program counts as hung."""
    seed: int | None = None
    """The seed that programs are drawn with."""
    start: Path = field(default_factory=Path.cwd)
    """Folder in which the run was started; printed commands are relative to it."""
    known_files: tuple[Path, ...] = ()
    """The user's files of known differences, which replace the file that comes with the suite."""
    update: Path | None = None
    """File of known differences to which the run adds the violations that it finds (`--update-known`). The entries that
    the file already has count as known.
    """
    strict: bool = False
    """Whether the run fails at violated SHOULD rules and at stale known differences (listed ones that no longer
    occur).
    """
    options: tuple[str, ...] = ()
    """The options that name the framework on a command line, such as "--framework=torch", for printed commands."""
    confirms: int = 0
    """Number of failures that this process may run again in a fresh process, to see whether they reproduce."""
    limits: Limits = UNLIMITED
    """The limits of the whole run, on its programs and its time."""
    skips: Skips = NO_SKIPS
    """The ops and rules that the user's list leaves out (`--skip`)."""
    articles: bool = False
    """Whether `report.md` and the terminal also show the claims of articles."""

    @property
    def watchdog(self) -> float:
        """Seconds of one program after which this process is ended. If the framework has its own process, that one is
        ended first.
        """
        return watchdog(self.timeout, parse(self.name) is not None)


def watchdog(timeout: float, served: bool) -> float:
    """Returns the seconds of one program after which the process that runs it is ended. `served`: the framework has its
    own process, which is ended first.
    """
    return timeout * 1.5 + LOADING if served else timeout
