"""Regions: the runs of computing instructions that compilers and checkpoints take as a unit.

A region follows from the program and from what a framework lets inside, so that programs replay and shrink as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from zlib import crc32

from autograd_conformance.programs.language import Apply, Detach, InPlace, Instruction, Leaf, Modes, Program, Ref
from autograd_conformance.programs.observations import Observation, region_steps
from autograd_conformance.programs.operands import operands, results

Computing = Apply | Detach | InPlace
"""The instructions that a region can hold."""


@dataclass(frozen=True, slots=True)
class Region:
    """A run of computing instructions: leaves that stand between them are made before."""

    steps: tuple[int, ...]
    """The numbers of its instructions, in order."""
    inputs: tuple[Ref, ...]
    """The values from outside that its instructions use, in the order in which they do."""
    results: tuple[Ref, ...]
    """The values that it makes and that are used outside, or by nobody: the others are never seen."""
    modes: Modes = ()
    """The grad modes that all its instructions stand under, outermost first: it is run under them."""

    @property
    def first(self) -> int:
        """The number of its first instruction."""
        return self.steps[0]

    @property
    def last(self) -> int:
        """The number of its last instruction."""
        return self.steps[-1]

    def inner(self, program: Program, at: int) -> Modes:
        """The grad modes that one of its instructions stands under inside of it."""
        return program.mode(at)[len(self.modes) :]


Holds = Callable[[Program, int, Sequence[int]], bool]
"""Whether an instruction, by its number, can stand in one region with those that are in it already."""


LEAST, ONE_IN = 3, 8
"""The fewest instructions of a run that ends before it has to, and in how many places it does."""


def ends_early(program: Program, at: int, run: Sequence[int]) -> bool:
    """Whether a run ends before an instruction although that could stand in it, so that what one region computes in one
    program several compute in another. It follows from what comes before and behind, wherever a program has it.
    """
    if len(run) < LEAST:
        return False
    text = f"{len(run)} {_computes(program[run[-1]])} {_computes(program[at])}"
    return crc32(text.encode()) % ONE_IN == 0


def _computes(step: Instruction) -> str:
    """What an instruction computes, whatever of."""
    return f"{step.op} {step.attrs}" if isinstance(step, (Apply, InPlace)) else type(step).__name__


def regions(program: Program, holds: Holds) -> Iterator[Region]:
    """The regions of a program, in order: runs of instructions as long as `holds` lets them be, but for a few that end
    early.
    """
    run: list[int] = []
    for at, step in enumerate(program):
        if isinstance(step, Leaf):
            continue
        computes = isinstance(step, Computing)
        if run and not (computes and holds(program, at, run) and not ends_early(program, at, run)):
            yield region_of(program, tuple(run))
            run = []
        if computes and (run or holds(program, at, run)):
            run.append(at)
    if run:
        yield region_of(program, tuple(run))


def observed_regions(program: Program, observation: Observation) -> list[Region]:
    """The regions that a program was run in, as its observation says."""
    return [region_of(program, steps) for steps in dict.fromkeys(region_steps(observation).values())]


def region_of(program: Program, steps: tuple[int, ...]) -> Region:
    """The region of some computing instructions, given by their numbers."""
    within = set(steps)
    made = [Ref(at, k) for at in steps for k in range(results(program[at]))]
    used = dict.fromkeys(ref for at in steps for ref in operands(program[at]))
    read = {ref for at in steps for ref in _read(program[at])}
    outside = {ref for at, step in enumerate(program) if at not in within for ref in operands(step)}
    seen = [ref for ref in made if ref in outside or ref not in read]
    modes = _common(program.mode(at) for at in steps)
    return Region(steps, tuple(ref for ref in used if ref.at not in within), tuple(seen), modes)


def form(program: Program, region: Region) -> Hashable:
    """What of a region is the function that it is: of equal regions it is the same, wherever they stand."""
    place = {ref: k for k, ref in enumerate(region.inputs)}
    made = [Ref(at, k) for at in region.steps for k in range(results(program[at]))]
    place.update((ref, -1 - k) for k, ref in enumerate(made))
    steps = []
    for at in region.steps:
        step = program[at]
        named = (step.op, step.attrs) if isinstance(step, Apply | InPlace) else ()
        given = tuple(place[ref] for ref in operands(step))
        steps.append((type(step), named, given, results(step), region.inner(program, at)))
    return tuple(steps), tuple(place[ref] for ref in region.results), region.modes


def _read(step: Instruction) -> tuple[Ref, ...]:
    """The values that an instruction reads; what it only writes to is not done with."""
    return step.args if isinstance(step, InPlace) else operands(step)


def _common(modes: Iterable[Modes]) -> Modes:
    """The grad modes with which all begin."""
    first, *others = modes
    length = len(first)
    for other in others:
        while first[:length] != other[:length]:
            length -= 1
    return first[:length]
