"""One entry of a file of known differences: the violated rule, the conditions of the case, and the limits for
values. And an entry of the situations that programs leave out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from autograd_conformance.known_differences.condition import Condition
from autograd_conformance.known_differences.conditions.subjects import Op
from autograd_conformance.known_differences.limits import NO_LIMITS, Limits
from autograd_conformance.programs.hazards import Hazard
from autograd_conformance.programs.language import Program

C = TypeVar("C", bound=Condition)


@dataclass(frozen=True, slots=True)
class Environment:
    """The framework's version and the machine of a run, which the entry's `version`, `device` and `platform` are
    compared with.
    """

    version: str
    """The framework's version."""
    device: str
    """The device that programs run on, such as "cpu" or "cuda:0"."""
    system: str
    """The operating system, such as "Linux"."""
    machine: str
    """The processor, such as "x86_64"."""


@dataclass(frozen=True)
class Known:
    """One known difference. A violation is this difference only if it fulfils every condition of the entry and its
    values are within the limits; otherwise it is a failure.
    """

    rule: str
    """The slug of the violated rule, or of a more general rule that includes it."""
    reason: str
    """A text that says why the framework differs."""
    witness: Program
    """A program that shows the difference. Each run tries it, and reports the entry as stale if the program no longer
    shows it.
    """
    conditions: tuple[Condition, ...] = ()
    """The conditions that a violation has to fulfil, the cheap ones first."""
    limits: Limits = NO_LIMITS
    """Limits on how far wrong values may be off."""
    link: str | None = None
    """Web address of the report to the framework's developers, or `NOT_REPORTED`."""
    since: str | None = None
    """Day since which the difference is known, in ISO form, such as 2026-11-22."""
    version: SpecifierSet | None = None
    """Versions of the framework that show the difference, such as >=2.12,<2.14; None means all."""
    device: tuple[str, ...] | None = None
    """The devices on which the difference occurs: `cuda` is any CUDA device, `cuda:1` is one; None means all."""
    platform: str | None = None
    """The operating system or the processor on which the difference occurs, such as Linux or x86_64; None means all."""
    left_out: bool = True
    """Whether tests of other rules leave the entry's op out of their programs."""
    where: str = field(default="", compare=False)
    """Path of the file that contains the entry."""
    inherited: bool = field(default=False, compare=False)
    """Whether the entry comes from an included file, such as the file of the framework whose mode is tested. An
    inherited entry is not stale if the mode does not show it.
    """

    @cached_property
    def op(self) -> str | None:
        """The op that the entry is about; None if other keys describe the case."""
        found = self.get(Op)
        return None if found is None else found.value

    def get(self, kind: type[C]) -> C | None:
        """Returns the condition of this class; None if the entry has none."""
        return next((each for each in self.conditions if isinstance(each, kind)), None)

    def applies(self, run: Environment) -> bool:
        """Whether the entry's version, device and platform match a run. Raises `InvalidVersion` if the entry names
        versions and the framework's own version is not comparable.
        """
        return _applies(self, run)


@dataclass(frozen=True)
class Spared:
    """A situation that no program for a framework has, because the framework ends the process in it. Runs do not try
    its witness.
    """

    situation: Hazard
    """The situation."""
    reason: str
    """A text that says what happens."""
    witness: Program
    """A program that ended the process."""
    link: str | None = None
    """Web address of the report to the framework's developers, or `NOT_REPORTED`."""
    since: str | None = None
    """Day since which it is known, in ISO form, such as 2026-11-22."""
    version: SpecifierSet | None = None
    """Versions of the framework that end the process, such as <2.14; None means all."""
    device: tuple[str, ...] | None = None
    """The devices on which the process ends; None means all."""
    platform: str | None = None
    """The operating system or the processor on which the process ends; None means all."""
    where: str = field(default="", compare=False)
    """Path of the file that contains the entry."""

    def applies(self, run: Environment) -> bool:
        """Whether the entry's version, device and platform match a run. Raises `InvalidVersion` as `Known.applies`."""
        return _applies(self, run)


def is_on(entry: Known | Spared, device: str) -> bool:
    """Whether an entry may describe what happens on a device."""
    return entry.device is None or not {device, device.partition(":")[0]}.isdisjoint(entry.device)


def _applies(entry: Known | Spared, run: Environment) -> bool:
    """Whether the version, device and platform of an entry match a run."""
    if entry.version is not None and not entry.version.contains(Version(run.version), prereleases=True):
        return False
    if not is_on(entry, run.device):
        return False
    here = (run.system, run.machine, f"{run.system} {run.machine}")
    return entry.platform is None or entry.platform.lower() in [each.lower() for each in here]
