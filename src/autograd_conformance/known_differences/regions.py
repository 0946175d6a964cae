"""Conditions about the regions of a program: ops that are compiled or recomputed together."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from autograd_conformance.known_differences.calls import CALLS, upstream_of_call
from autograd_conformance.known_differences.writes import owner
from autograd_conformance.ops.tables import VIEWS
from autograd_conformance.programs.language import Apply, Backward, Detach, Grad, InPlace, Program, ReadGrad, Ref
from autograd_conformance.programs.regions import region_of
from autograd_conformance.rules.violations.violation import Violation


def writes_in_region(program: Program, violation: Violation) -> bool:
    """Whether a region contains an in-place write, and the failing instruction is in this region or is a call that
    passes through it.
    """
    regions, passed = violation.regions, _before(program, violation.at)
    writes = {at: step.target for at, step in enumerate(program) if isinstance(step, InPlace)}
    through = {at for at, target in writes.items() if at < violation.at and target in passed}
    ran = {violation.at, *(ref.at for ref in passed), *through} & regions.keys()
    return any(at in writes for each in ran for at in regions[each])


def derives_through_region(program: Program, violation: Violation) -> bool:
    """Whether the failing instruction, or a value that the failing call passes through, reads a gradient that a call
    with create_graph computed through a region.
    """
    read = {ref.at for ref in (*_before(program, violation.at), Ref(violation.at))}
    return any(_is_left_through_region(program, at, violation.regions) for at in read)


def _is_left_through_region(program: Program, at: int, regions: Collection[int]) -> bool:
    """Whether instruction `at` reads a gradient that an earlier call with create_graph computed through a region."""
    read = program[at]
    if not isinstance(read, ReadGrad):
        return False
    calls = [k for k, step in enumerate(program.instructions[:at]) if isinstance(step, Backward) and step.create_graph]
    passed = (_before(program, call) for call in calls)
    return any(read.leaf in refs and any(ref.at in regions for ref in refs) for refs in passed)


def _before(program: Program, at: int) -> set[Ref]:
    """The values that call `at` passes through: upstream of its roots, through ops and earlier writes, and of the roots
    of `grad` calls whose results it differentiates. Empty if instruction `at` is no call.
    """
    call = program[at]
    if not isinstance(call, CALLS):
        return set()
    writes = [step for step in program.instructions[:at] if isinstance(step, InPlace)]
    found = upstream_of_call(program, call, writes)
    calls = {ref.at for ref in found if isinstance(program[ref.at], Grad)}
    return found.union(*(_before(program, earlier) for earlier in calls))


def returns_op(program: Program, violation: Violation, op: str) -> bool:
    """Whether a region that begins before the failing instruction returns a result of this op."""
    regions = {region for at, region in violation.regions.items() if at < violation.at}
    returned = (program[ref.at] for region in regions for ref in region_of(program, region).results)
    return any(isinstance(step, Apply) and step.op == op for step in returned)


def returns_detached(program: Program, violation: Violation) -> bool:
    """Whether a region that begins at or before the failing instruction returns both a view of a value that it computed
    and a detached view of the same value.
    """
    regions = {region for at, region in violation.regions.items() if at <= violation.at}
    return any(_returns_detached(program, region) for region in regions)


def _returns_detached(program: Program, region: tuple[int, ...]) -> bool:
    """Whether a region returns both a view of a value that it computed and a detached view of the same value."""
    returned = {ref: {type(step) for step in _aliases(program, ref)} for ref in region_of(program, region).results}
    views = {owner(program, ref) for ref, made in returned.items() if made == {Apply}}
    detached = {owner(program, ref) for ref, made in returned.items() if made == {Apply, Detach}}
    return any(at in region for at in views & detached)


def _aliases(program: Program, ref: Ref) -> Iterator[Apply | Detach]:
    """The view ops and detaches that lead from a value back to the value which owns its memory."""
    match program[ref.at]:
        case Detach(source) as step:
            yield step
            yield from _aliases(program, source)
        case Apply(op, args) as step if op in VIEWS and args:
            yield step
            yield from _aliases(program, args[0])
        case _:
            pass
