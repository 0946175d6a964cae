"""Conditions about regions of a program: groups of instructions that run as one compiled or checkpointed function."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from autograd_conformance.known_differences.condition import Flag
from autograd_conformance.known_differences.conditions.calls import CALLS, upstream_of_call
from autograd_conformance.known_differences.conditions.writes import owner
from autograd_conformance.ops.tables import VIEWS
from autograd_conformance.programs.language import (
    Apply,
    Backward,
    Detach,
    Grad,
    InPlace,
    Program,
    ReadGrad,
    Ref,
    is_recorded,
)
from autograd_conformance.programs.regions import region_of
from autograd_conformance.rules.violations.violation import Violation


class RegionReturnsOp(Flag):
    """A region (instructions that run as one compiled or checkpointed function) that begins before the failing
    instruction returns a result of the entry's op.
    """

    key, old_key, about_op = "region_returns_op", "given", "it is about the result of the op"

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        regions = {region for at, region in violation.regions.items() if at < violation.at}
        returned = (program[ref.at] for region in regions for ref in region_of(program, region).results)
        return any(isinstance(step, Apply) and step.op == op for step in returned)


class InRegion(Flag):
    """A region (instructions that run as one compiled or checkpointed function) contains an in-place write, and the
    failing instruction is in this region or is a call that passes through the region.
    """

    key, old_key = "in_region", "inside"

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        regions, passed = violation.regions, _before(program, violation.at)
        writes = {at: step.target for at, step in enumerate(program) if isinstance(step, InPlace)}
        through = {at for at, target in writes.items() if at < violation.at and target in passed}
        ran = {violation.at, *(ref.at for ref in passed), *through} & regions.keys()
        return any(at in writes for each in ran for at in regions[each])


class ThroughRegion(Flag):
    """The gradient that the failing instruction reads, or one that the failing call passes through, was computed
    through a region (instructions that run as one compiled or checkpointed function) by a call with create_graph.
    """

    key, old_key = "through_region", "through_unit"

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        read = {ref.at for ref in (*_before(program, violation.at), Ref(violation.at))}
        return any(_is_left_through_region(program, at, violation.regions) for at in read)


class RegionReturnsDetached(Flag):
    """A region (instructions that run as one compiled or checkpointed function) that begins at or before the failing
    instruction returns both a view of a value that the region computed and a detached view of the same value.
    """

    key, old_key = "region_returns_detached", "detached"

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        regions = {region for at, region in violation.regions.items() if at <= violation.at}
        return any(_returns_detached(program, region) for region in regions)


class RegionReturnsRecordedView(Flag):
    """A region (instructions that run as one compiled or checkpointed function) that runs in a block of no_grad, and
    begins before the failing instruction, returns a view of one of its inputs that was made under enable_grad.
    """

    key = "region_returns_recorded_view"

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        regions = {region for at, region in violation.regions.items() if at < violation.at}
        return any(_returns_recorded_view(program, region) for region in regions)


def _is_left_through_region(program: Program, at: int, regions: Collection[int]) -> bool:
    """Returns whether instruction `at` reads a gradient that an earlier call with create_graph computed through a
    region, a compiled or checkpointed function.
    """
    read = program[at]
    if not isinstance(read, ReadGrad):
        return False
    calls = [k for k, step in enumerate(program.instructions[:at]) if isinstance(step, Backward) and step.create_graph]
    passed = (_before(program, call) for call in calls)
    return any(read.leaf in refs and any(ref.at in regions for ref in refs) for refs in passed)


def _before(program: Program, at: int) -> set[Ref]:
    """Returns the values that call `at` passes through: upstream of its roots, through ops and earlier writes, and of
    the roots of `grad` calls whose results it differentiates. Empty if instruction `at` is no call.
    """
    call = program[at]
    if not isinstance(call, CALLS):
        return set()
    writes = [step for step in program.instructions[:at] if isinstance(step, InPlace)]
    found = upstream_of_call(program, call, writes)
    calls = {ref.at for ref in found if isinstance(program[ref.at], Grad)}
    return found.union(*(_before(program, earlier) for earlier in calls))


def _returns_detached(program: Program, region: tuple[int, ...]) -> bool:
    """Returns whether a region, a compiled or checkpointed function, returns both a view of a value that it computed
    and a detached view of the same value.
    """
    returned = {ref: {type(step) for step in _aliases(program, ref)} for ref in region_of(program, region).results}
    views = {owner(program, ref) for ref, made in returned.items() if made == {Apply}}
    detached = {owner(program, ref) for ref, made in returned.items() if made == {Apply, Detach}}
    return any(at in region for at in views & detached)


def _returns_recorded_view(program: Program, region: tuple[int, ...]) -> bool:
    """Returns whether a region, a compiled or checkpointed function, returns a view of an input that was made under
    enable_grad in a block of no_grad.
    """
    returned = region_of(program, region).results
    views = (ref for ref in returned if any(_aliases(program, ref)) and owner(program, ref) not in region)
    return any("no_grad" in modes and is_recorded(modes) for modes in (program.mode(view.at) for view in views))


def _aliases(program: Program, ref: Ref) -> Iterator[Apply | Detach]:
    """Yields the view ops and detaches that lead from a value back to the value which allocated its memory."""
    match program[ref.at]:
        case Detach(source) as step:
            yield step
            yield from _aliases(program, source)
        case Apply(op, args) as step if op in VIEWS and args:
            yield step
            yield from _aliases(program, args[0])
        case _:
            pass
