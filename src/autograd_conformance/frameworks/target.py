"""A framework in this process as a target: programs go in, observations come out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from autograd_conformance.frameworks.adapter import (
    USUAL_OPTIMIZERS,
    Adapter,
    Generator,
    HasCostlyRegions,
    HasLimits,
    HasModules,
    HasOptimizers,
    HasRandom,
    HasRegions,
    HasSavedTensorCounter,
    HasSimplerModes,
    HasTraits,
    HasTraitSources,
    HasVariables,
    HasWrites,
    Target,
)
from autograd_conformance.frameworks.calls import CheckedGenerator, call_adapter
from autograd_conformance.frameworks.environment import variables
from autograd_conformance.frameworks.environment.interrupts import watch
from autograd_conformance.frameworks.probing.probe import NOTHING_MISSING, ProbeResult, probe
from autograd_conformance.frameworks.probing.smoke import smoke
from autograd_conformance.frameworks.registry import load
from autograd_conformance.frameworks.remote.client import Remote
from autograd_conformance.frameworks.remote.command import parse
from autograd_conformance.frameworks.remote.connection import Connection, TimeoutScale, unscaled
from autograd_conformance.frameworks.remote.probe import probe as wire_probe
from autograd_conformance.frameworks.remote.smoke import smoke as wire_smoke
from autograd_conformance.frameworks.requirements import adopt_new_names
from autograd_conformance.frameworks.running.printed import run_printed
from autograd_conformance.frameworks.running.regions import run_type
from autograd_conformance.frameworks.running.runner import Run
from autograd_conformance.ops.catalogue import WRITES
from autograd_conformance.ops.limits import Limits
from autograd_conformance.printing.dialect import Dialect
from autograd_conformance.programs.capabilities import PYTORCH, Capability, Traits
from autograd_conformance.programs.language import Program
from autograd_conformance.programs.observations import Observation
from autograd_conformance.programs.regions import Region, regions

Note = Callable[[Program], object]


def load_adapter(name: str, device: str = "cpu") -> Adapter:
    """The adapter of a framework, smoke-tested; raises what `frameworks.registry.load` raises."""
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
    """The target of a name, in this process or another, smoke-tested; raises what `frameworks.registry.load` raises.

    What runs elsewhere has `timeout` seconds for a program, or what `stretched` makes of them.
    """
    command = parse(name)
    if command is None:
        adapter = load_adapter(name, device)
        return InProcess(adapter, note or _nothing, probed=probe(adapter))
    remote = Remote(Connection(command, device, timeout=timeout, scale=scale), note or _nothing)
    silent = replace(remote, note=_nothing)
    wire_smoke(silent)
    return replace(remote, probed=wire_probe(silent))


def _nothing(program: Program) -> None:
    """Nothing is noted of a program."""


@dataclass(frozen=True)
class InProcess:
    """A framework in this process, reached through its adapter."""

    adapter: Adapter
    """The calls through which programs are run."""
    note: Note = _nothing
    """Told each program before it runs; a session writes it to its journal."""
    missing: frozenset[str] = frozenset()
    """The adapter's ops that its device has no kernels of."""
    probed: ProbeResult = NOTHING_MISSING
    """What was found by trying."""

    script: ClassVar[Sequence[str]] = (sys.executable,)
    """Scripts run where this process does."""

    def __post_init__(self) -> None:
        adopt_new_names(self.adapter)

    def observe(self, program: Program) -> Observation:
        """What the framework does with a program; its exceptions are outcomes."""
        self.note(program)
        return self._runner(program, self.adapter, self.probed.missing).observe()

    @cached_property
    def _runner(self) -> type[Run]:
        return run_type(self.adapter)

    @property
    def prints(self) -> bool:
        """Whether it has a dialect to print in."""
        return self.adapter.dialect is not None

    def observe_printed(self, program: Program) -> Observation:
        """What the program's printed code does, run in place of the adapter's calls."""
        return run_printed(program, self.adapter)

    def crash_as_error(self) -> InProcess:
        """The same: the end of this process is nobody's to tell."""
        return self

    def without(self, ops: Collection[str]) -> InProcess:
        """The same, but for some ops that its device has no kernels of."""
        return replace(self, missing=self.missing | frozenset(ops))

    @property
    def has_regions(self) -> bool:
        """Whether the framework takes runs of instructions as units."""
        return isinstance(self.adapter, HasRegions)

    def regions(self, program: Program) -> tuple[Region, ...]:
        """The runs of a program's instructions that the framework takes as units."""
        adapter = self.adapter
        if not isinstance(adapter, HasRegions):
            return ()
        return call_adapter(self.name, "holds()", lambda: tuple(regions(program, adapter.holds)))

    @property
    def programs_each(self) -> int:
        """How many programs a new unit is to be there for."""
        return self.adapter.programs_each if isinstance(self.adapter, HasCostlyRegions) else 0

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment variables that are set and may change what the framework does."""
        return variables.of(self.adapter.variables) if isinstance(self.adapter, HasVariables) else {}

    def simpler_modes(self) -> Mapping[str, InProcess]:
        """The same framework with less between it and a program, where its adapter names such modes."""
        made = (
            call_adapter(self.name, "simpler_modes()", self.adapter.simpler_modes)
            if isinstance(self.adapter, HasSimplerModes)
            else {}
        )
        return {
            words: InProcess(call_adapter(self.name, words, make), self.note, probed=self.probed)
            for words, make in made.items()
        }

    @cached_property
    def name(self) -> str:
        """The framework's name."""
        return self.adapter.name

    @cached_property
    def version(self) -> str:
        """The framework's version."""
        return self.adapter.version

    @cached_property
    def capabilities(self) -> frozenset[Capability]:
        """What the framework claims to do, and was not found to lack."""
        return self.probed.capabilities(self.adapter)

    @property
    def absent(self) -> frozenset[str]:
        """The forms of leaves that do not read back as they were written."""
        return self.probed.forms

    @property
    def notes(self) -> Sequence[str]:
        """What was found not to be there, a line each."""
        return self.probed.notes

    @cached_property
    def traits(self) -> Traits:
        """The legal answers that its adapter names; PyTorch's where it names none."""
        return self.adapter.traits if isinstance(self.adapter, HasTraits) else PYTORCH

    @property
    def trait_sources(self) -> Mapping[str, str]:
        """Where they are documented, as far as its adapter says so."""
        return self.adapter.trait_sources if isinstance(self.adapter, HasTraitSources) else {}

    @property
    def environment(self) -> Sequence[str]:
        """Nothing: it runs in the suite's environment."""
        return ()

    @cached_property
    def ops(self) -> Collection[str]:
        """The ops of the catalogue that it has."""
        return frozenset(self.adapter.ops) - self.missing if self.missing else self.adapter.ops

    @cached_property
    def writes(self) -> Collection[str]:
        """The ops in place that its adapter names; all where it names none."""
        return frozenset(self.adapter.writes if isinstance(self.adapter, HasWrites) else WRITES)

    @cached_property
    def limits(self) -> Limits:
        """What its adapter says that it takes of some ops and writes."""
        return self.adapter.limits if isinstance(self.adapter, HasLimits) else {}

    @cached_property
    def dtypes(self) -> Sequence[str]:
        """The dtypes that it computes in, less those that leaves do not keep."""
        if not self.probed.dtypes:
            return self.adapter.dtypes
        return [dtype for dtype in self.adapter.dtypes if dtype not in self.probed.dtypes]

    @cached_property
    def dialect(self) -> Dialect | None:
        """How its code is written."""
        return self.adapter.dialect

    @cached_property
    def optimizers(self) -> Mapping[str, Collection[str]]:
        """The optimizers that it has, with their settings; the usual ones where its adapter names none."""
        return self.adapter.optimizers if isinstance(self.adapter, HasOptimizers) else USUAL_OPTIMIZERS

    @cached_property
    def modules(self) -> Collection[str]:
        """The modules that its adapter names."""
        return self.adapter.modules if isinstance(self.adapter, HasModules) else ()

    @cached_property
    def random(self) -> Generator | None:
        """Its random number generator, if its adapter names one."""
        if not isinstance(self.adapter, HasRandom) or self.adapter.random is None:
            return None
        return CheckedGenerator(self.name, self.adapter.random)

    @cached_property
    def saved_tensor_counter(self) -> InProcess | None:
        """This target where it counts saved tensors itself, else the one of the adapter that does, if there is one."""
        if Capability.COUNTS_SAVED in self.capabilities:
            return self
        if isinstance(self.adapter, HasSavedTensorCounter):
            made = call_adapter(self.name, "saved_tensor_counter()", self.adapter.saved_tensor_counter)
            return InProcess(made, self.note, self.missing, self.probed)
        return None
