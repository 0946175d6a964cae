"""Frameworks as targets: `InProcess` runs an adapter in this process, and `open_target` finds the target of a name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from autograd_conformance.frameworks.adapter import (
    Adapter,
    Generator,
    Target,
)
from autograd_conformance.frameworks.calls import CheckedGenerator, call_adapter
from autograd_conformance.frameworks.environment import variables
from autograd_conformance.frameworks.environment.interrupts import watch
from autograd_conformance.frameworks.environment.restoring import restored
from autograd_conformance.frameworks.loading.older_adapters import complete
from autograd_conformance.frameworks.loading.registry import load
from autograd_conformance.frameworks.probing.probe import NOTHING_MISSING, ProbeResult, probe
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.remote.client import Remote
from autograd_conformance.frameworks.remote.command import parse
from autograd_conformance.frameworks.remote.connection import Connection, TimeoutScale, unscaled
from autograd_conformance.frameworks.remote.probe import probe as wire_probe
from autograd_conformance.frameworks.remote.smoke import smoke as wire_smoke
from autograd_conformance.frameworks.running.printed import run_printed
from autograd_conformance.frameworks.running.regions import has_regions, run_type
from autograd_conformance.frameworks.running.runner import Run
from autograd_conformance.ops.limits import Limits
from autograd_conformance.printing.dialect import Dialect
from autograd_conformance.programs.capabilities import Capability, Traits
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.observations import Observation
from autograd_conformance.programs.regions import Region, regions

Note = Callable[[Program], object]


def load_adapter(name: str, device: str = "cpu") -> Adapter:
    """Load an adapter and run the smoke test. Raises the errors of `frameworks.loading.registry.load`."""
    watch()
    adapter = load(name, device)
    smoke(adapter)
    return adapter


def open_target(
    name: str,
    device: str = "cpu",
    note: Note | None = None,
    timeout: float = 60.0,
    scale: TimeoutScale = unscaled,
) -> Target:
    """Open the target of a framework, in this process or another, and run the smoke test and the probe.

    `timeout` is the seconds that another process may take for a program, before `scale` adapts them to the machine.
    Raises the errors of `frameworks.loading.registry.load`.
    """
    command = parse(name)
    if command is None:
        with restored():
            adapter = load_adapter(name, device)
            return InProcess(adapter, note or _nothing, probed=probe(adapter))
    remote = Remote(Connection(command, device, timeout=timeout, scale=scale), note or _nothing)
    silent = replace(remote, note=_nothing)
    wire_smoke(silent)
    return replace(remote, probed=wire_probe(silent))


def open_unchecked(name: str, device: str, timeout: float, scale: TimeoutScale = unscaled) -> Remote:
    """Open the target of a framework in another process, without the smoke test and the probe.

    These two run calls that the framework may not survive, although it survives a program without these calls.
    """
    command = parse(name)
    assert command is not None
    return Remote(Connection(command, device, timeout=timeout, scale=scale, checks=False))


def _nothing(program: Program) -> None:
    """Does nothing with a program; the default of `note`."""


@dataclass(frozen=True)
class InProcess:
    """A framework in this process, called through its adapter."""

    adapter: Adapter
    """The adapter that runs the programs."""
    note: Note = _nothing
    """A function that receives each program before it runs; a session writes the program to a file that outlasts a
    crash.
    """
    missing: frozenset[str] = frozenset()
    """Ops of the adapter for which its device has no kernels."""
    probed: ProbeResult = NOTHING_MISSING
    """The result of the probe, which found by experiment which claimed features the framework has."""

    script: ClassVar[Sequence[str]] = (sys.executable,)
    """The command that runs a script: the interpreter of this process."""

    def __post_init__(self) -> None:
        complete(self.adapter)

    def observe(self, program: Program) -> Observation:
        """Run a program, and return what happened at each instruction. Exceptions of the framework are outcomes."""
        self.note(program)
        with restored():
            return self._runner(program, self.adapter, self.probed.missing).observe()

    @cached_property
    def _runner(self) -> type[Run]:
        return run_type(self.adapter)

    @property
    def prints(self) -> bool:
        """Whether the adapter has a dialect, so that programs can also run as printed code."""
        return self.adapter.dialect is not None

    def observe_printed(self, program: Program) -> Observation:
        """Run the printed code of a program in place of adapter calls."""
        with restored():
            return run_printed(program, self.adapter)

    def crash_as_error(self) -> InProcess:
        """Returns this target itself: a crash would end the suite's own process, so nobody could report it."""
        return self

    def without(self, ops: Collection[str]) -> InProcess:
        """Returns the same target, except that its device has no kernels for some ops."""
        return replace(self, missing=self.missing | frozenset(ops))

    @property
    def has_regions(self) -> bool:
        """Whether the framework compiles, checkpoints or records several instructions together, as a region."""
        return has_regions(self.adapter)

    def regions(self, program: Program) -> tuple[Region, ...]:
        """Returns the regions of a program, each of which is instructions that run as one function; empty for a
        framework without regions.
        """
        if not self.has_regions:
            return ()
        return call_adapter(self.name, "holds()", lambda: tuple(regions(program, self.adapter.holds)))

    @property
    def programs_each(self) -> int:
        """The number of programs that should share one compiled region; 0 if a new region is cheap."""
        return self.adapter.programs_each

    @property
    def variables(self) -> Mapping[str, str]:
        """Environment variables that are set and may change the framework's behaviour."""
        return variables.of(self.adapter.variables)

    def simpler_modes(self) -> Mapping[str, InProcess]:
        """Returns the same framework with fewer layers, by the adapter's description of each; empty if the adapter has
        none.
        """
        factories = call_adapter(self.name, "simpler_modes()", self.adapter.simpler_modes)
        return {
            words: InProcess(call_adapter(self.name, words, make), self.note, probed=self.probed)
            for words, make in factories.items()
        }

    @cached_property
    def name(self) -> str:
        """Name of the framework."""
        return self.adapter.name

    @cached_property
    def version(self) -> str:
        """Version of the framework."""
        return self.adapter.version

    @cached_property
    def capabilities(self) -> frozenset[Capability]:
        """Capabilities that the framework claims, without those that the probe did not find."""
        return self.probed.capabilities(self.adapter)

    @property
    def absent(self) -> frozenset[str]:
        """Forms of leaves, such as ``vectors``, that the probe found not to read back as written."""
        return self.probed.forms

    @property
    def notes(self) -> Sequence[str]:
        """Notes of the adapter, and the claimed features that the probe did not find, one line each."""
        return (*self.adapter.notes, *self.probed.notes)

    @cached_property
    def traits(self) -> Traits:
        """Traits of the adapter."""
        return self.adapter.traits

    @property
    def trait_sources(self) -> Mapping[str, str]:
        """Address of the documentation or source code that states each trait, by the trait's name, as far as the
        adapter cites it.
        """
        return self.adapter.trait_sources

    @property
    def environment(self) -> Sequence[str]:
        """Empty: the framework runs in the suite's environment."""
        return ()

    @cached_property
    def ops(self) -> Collection[str]:
        """Names of the supported ops of the catalogue, without those that the device has no kernels for."""
        return frozenset(self.adapter.ops) - self.missing if self.missing else self.adapter.ops

    @cached_property
    def writes(self) -> Collection[str]:
        """Names of the supported in-place ops."""
        return frozenset(self.adapter.writes)

    @cached_property
    def autocast(self) -> Mapping[str, str]:
        """The dtypes in which the adapter's ops compute under autocast."""
        return self.adapter.autocast

    @cached_property
    def limits(self) -> Limits:
        """The adapter's limits on ops and in-place ops."""
        return self.adapter.limits

    @cached_property
    def dtypes(self) -> Sequence[str]:
        """Names of the dtypes that the framework computes in, without those in which a leaf does not read back as
        written.
        """
        if not self.probed.dtypes:
            return self.adapter.dtypes
        return [dtype for dtype in self.adapter.dtypes if dtype not in self.probed.dtypes]

    @cached_property
    def dialect(self) -> Dialect | None:
        """Templates for the framework's code; None if there are none."""
        return self.adapter.dialect

    @cached_property
    def optimizers(self) -> Mapping[str, Collection[str]]:
        """Supported optimizers, each with its settings."""
        return self.adapter.optimizers

    @cached_property
    def modules(self) -> Collection[str]:
        """Names of the supported modules."""
        return self.adapter.modules

    @cached_property
    def random(self) -> Generator | None:
        """The adapter's random number generator, if it has one."""
        generator = self.adapter.random
        return None if generator is None else CheckedGenerator(self.name, generator)

    @cached_property
    def saved_tensor_counter(self) -> InProcess | None:
        """This target if it counts saved tensors, else a target of the adapter that `Adapter.saved_tensor_counter`
        returns, else None.
        """
        if Capability.COUNTS_SAVED in self.capabilities:
            return self
        made = call_adapter(self.name, "saved_tensor_counter()", self.adapter.saved_tensor_counter)
        return None if made is None else InProcess(made, self.note, self.missing, self.probed)
