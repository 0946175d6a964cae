"""Runs a program whose computing instructions a framework takes in units: compiled, or recomputed, together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from autograd_conformance.frameworks.adapter import Adapter, HasRegions, HasVjp, Value
from autograd_conformance.frameworks.calls import call_adapter
from autograd_conformance.frameworks.reading import validation
from autograd_conformance.frameworks.registry import AdapterError
from autograd_conformance.frameworks.running.functional import FunctionalRun
from autograd_conformance.frameworks.running.runner import Run
from autograd_conformance.printing.regions import canonical
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Program, Ref
from autograd_conformance.programs.observations import Observation, Returned, Skipped, StepObservation
from autograd_conformance.programs.operands import operands, results
from autograd_conformance.programs.regions import Region, region_of, regions


def observe(program: Program, adapter: Adapter, unreadable: frozenset[Capability] = frozenset()) -> Observation:
    """What a framework does with a program, in units where its adapter has them, by functions where it takes these;
    what was found `blind` is not looked at.
    """
    return run_type(adapter)(program, adapter, unreadable).observe()


def run_type(adapter: Adapter) -> type[Run]:
    """What runs an adapter's programs, told from its methods; to look for these takes as long as some ops do."""
    if isinstance(adapter, HasVjp):
        return FunctionalRun
    return RegionRun if isinstance(adapter, HasRegions) else Run


class RegionRun(Run):
    """One run of one program, a region at a time; every value that comes out of one is looked at behind it."""

    def __init__(self, program: Program, adapter: Adapter, unreadable: frozenset[Capability] = frozenset()) -> None:
        super().__init__(program, adapter, unreadable)
        self.units = adapter if isinstance(adapter, HasRegions) else None

    def observations(self) -> Iterator[StepObservation]:
        """What each instruction does, in order."""
        found = call_adapter(self.adapter.name, "holds()", self._regions) if self.units else ()
        begins = {region.first: region for region in found}
        at = 0
        while at < len(self.program):
            region = begins.get(at)
            if region is None:
                yield self.observe_step(at, self.program[at])
                at += 1
            else:
                yield from self._region(region)
                at = region.last + 1

    def _regions(self) -> Sequence[Region]:
        assert self.units is not None
        return list(regions(self.program, self.units.holds))

    def _region(self, region: Region) -> Iterator[StepObservation]:
        """What is seen of a region's instructions, and of the leaves between them, which are made before those that can
        run, or behind.
        """
        program, whole = self.program, range(region.first, region.last + 1)
        steps = self._possible(region)
        ends = steps[-1] if steps else region.first
        leaves = [at for at in whole if at not in region.steps]
        observations = {at: self.observe_step(at, program[at]) for at in leaves if at < ends}
        observations.update({at: StepObservation(Skipped()) for at in region.steps if at not in steps})
        if steps:
            observations.update(self._unit(region if steps == region.steps else region_of(program, steps)))
        observations.update({at: self.observe_step(at, program[at]) for at in leaves if at > ends})
        for at in whole:
            yield observations[at]

    def _possible(self, region: Region) -> tuple[int, ...]:
        """Those of a region's instructions that need nothing that an earlier error kept from being made."""
        missing = {ref for ref in region.inputs if ref not in self.values and ref.at < region.first}
        steps = []
        for at in region.steps:
            if missing.isdisjoint(operands(self.program[at])):
                steps.append(at)
            else:
                missing.update(Ref(at, k) for k in range(results(self.program[at])))
        return tuple(steps)

    def _unit(self, region: Region) -> dict[int, StepObservation]:
        """What is seen of the instructions of a region that is run as a unit."""
        program, last = self.program, self.program[region.last]
        try:
            made = self.computed(region)
        except AdapterError:
            raise
        except BaseException as error:  # whatever the framework raises is an observation
            observations = {at: StepObservation(Skipped()) for at in region.steps}
            looked = self.observe_after(region.first, program[region.first], self.raised(last, error), True, True)
            return {**observations, region.first: replace(looked, region=region.steps)}
        self.values.update(zip(region.results, made, strict=True))
        observations = {at: StepObservation(Returned((None,) * results(program[at]))) for at in region.steps}
        looked = self.observe_after(region.last, last, observations[region.last].outcome, True, True)
        return {**observations, region.last: replace(looked, region=region.steps)}

    def computed(self, region: Region) -> Sequence[Value]:
        """The results of a region that is run as a unit."""
        adapter = self.adapter
        assert self.units is not None and adapter.dialect is not None, "units are written in the adapter's dialect"
        self.modes.enter(region.modes)
        source = canonical(self.program, region, adapter.dialect)
        made = self.units.unit(source, [self.values[ref] for ref in region.inputs])
        if len(made) != len(region.results):
            validation.refuse(adapter, "unit()", made, f"{len(region.results)} results")
        return made
