"""Runs a program on a framework that compiles, checkpoints or records regions of instructions together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from autograd_conformance.frameworks.adapter import Adapter, Value, defines
from autograd_conformance.frameworks.calls import call_adapter
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.frameworks.reading import validation
from autograd_conformance.frameworks.running.functional import FunctionalRun
from autograd_conformance.frameworks.running.runner import Run
from autograd_conformance.printing.regions import canonical
from autograd_conformance.programs.capabilities import Capability
from autograd_conformance.programs.language import Program, Ref
from autograd_conformance.programs.observations import Observation, Returned, Skipped, StepObservation
from autograd_conformance.programs.operands import operands, results
from autograd_conformance.programs.regions import Region, region_of, regions


def observe(program: Program, adapter: Adapter, unreadable: frozenset[Capability] = frozenset()) -> Observation:
    """Run a program as the adapter requires: instruction by instruction, with several instructions as one function (a
    region), or as functions that are differentiated. `unreadable` properties are not read.
    """
    return run_type(adapter)(program, adapter, unreadable).observe()


def run_type(adapter: Adapter) -> type[Run]:
    """Returns the class that runs programs on an adapter: `FunctionalRun`, `RegionRun` or `Run`."""
    if defines(adapter, "vjp"):
        return FunctionalRun
    return RegionRun if has_regions(adapter) else Run


def has_regions(adapter: Adapter) -> bool:
    """Whether an adapter compiles, checkpoints or records several instructions together, as a region."""
    return defines(adapter, "holds") and defines(adapter, "unit")


class RegionRun(Run):
    """One run of a program in which each region (instructions that run as one compiled or checkpointed function) runs
    at once; its results are read afterwards.
    """

    def observations(self) -> Iterator[StepObservation]:
        """Observe every instruction, in order."""
        found = call_adapter(self.adapter.name, "holds()", self._regions)
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
        return list(regions(self.program, self.adapter.holds))

    def _region(self, region: Region) -> Iterator[StepObservation]:
        """Observe the instructions of a region and the leaves between them. Leaves before the last instruction that can
        run are made first, the others afterwards.
        """
        program, whole = self.program, range(region.first, region.last + 1)
        steps = self._possible(region)
        ends = steps[-1] if steps else region.first
        leaves = [at for at in whole if at not in region.steps]
        observations = {at: self.observe_step(at, program[at]) for at in leaves if at < ends}
        observations.update({at: StepObservation(Skipped()) for at in region.steps if at not in steps})
        if steps:
            observations.update(self._run_region(region if steps == region.steps else region_of(program, steps)))
        observations.update({at: self.observe_step(at, program[at]) for at in leaves if at > ends})
        for at in whole:
            yield observations[at]

    def _possible(self, region: Region) -> tuple[int, ...]:
        """Returns the instructions of a region whose operands exist; an earlier error may have prevented
        some of them.
        """
        missing = {ref for ref in region.inputs if ref not in self.values and ref.at < region.first}
        steps = []
        for at in region.steps:
            if missing.isdisjoint(operands(self.program[at])):
                steps.append(at)
            else:
                missing.update(Ref(at, k) for k in range(results(self.program[at])))
        return tuple(steps)

    def _run_region(self, region: Region) -> dict[int, StepObservation]:
        """Run a region as one function, and return the observation of each of its instructions."""
        program, last = self.program, self.program[region.last]
        try:
            made = self.computed(region)
        except AdapterError:
            raise
        except BaseException as error:  # whatever the framework raises is an observation
            observations = {at: StepObservation(Skipped()) for at in region.steps}
            observed = self.observe_after(region.first, program[region.first], self.raised(last, error), True, True)
            return {**observations, region.first: replace(observed, region=region.steps)}
        self.values.update(zip(region.results, made, strict=True))
        observations = {at: StepObservation(Returned((None,) * results(program[at]))) for at in region.steps}
        observed = self.observe_after(region.last, last, observations[region.last].outcome, True, True)
        return {**observations, region.last: replace(observed, region=region.steps)}

    def computed(self, region: Region) -> Sequence[Value]:
        """Run a region as one function, and return its results."""
        adapter = self.adapter
        assert adapter.dialect is not None, "regions are printed in the dialect"
        self.modes.enter(region.modes)
        source = canonical(self.program, region, adapter.dialect)
        made = adapter.unit(source, [self.values[ref] for ref in region.inputs])
        if len(made) != len(region.results):
            validation.refuse(adapter, "unit()", made, f"{len(region.results)} results")
        return made
