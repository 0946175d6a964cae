"""Regions: runs of computing instructions that compilers and checkpoints handle as one function.

Regions follow from the program and from the instructions that a framework allows inside, so that a program replays and
shrinks without extra data.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from zlib import crc32

from autograd_conformance.programs.language import Apply, Detach, InPlace, Instruction, Leaf, Modes, Program, Ref
from autograd_conformance.programs.observations import Observation, region_steps
from autograd_conformance.programs.operands import operands, results

Computing = Apply | Detach | InPlace
"""The instructions that a region (one compiled or checkpointed function) can contain."""


@dataclass(frozen=True, slots=True)
class Region:
    """Consecutive computing instructions that a framework runs as one compiled or checkpointed function. Leaves between
    these instructions are made before the region runs.
    """

    steps: tuple[int, ...]
    """The numbers of the region's instructions, in order."""
    inputs: tuple[Ref, ...]
    """The values from outside that the region uses, in order of their first use."""
    results: tuple[Ref, ...]
    """The region's values that are used outside, or by no instruction; its other values are never observed."""
    modes: Modes = ()
    """The grad modes that all of the region's instructions have in common, outermost first; the region runs under these
    modes.
    """

    @property
    def first(self) -> int:
        """The number of the region's first instruction."""
        return self.steps[0]

    @property
    def last(self) -> int:
        """The number of the region's last instruction."""
        return self.steps[-1]

    def inner(self, program: Program, at: int) -> Modes:
        """Returns the grad modes of instruction `at` that are entered inside the region."""
        return program.mode(at)[len(self.modes) :]


CanJoin = Callable[[Program, int, Sequence[int]], bool]
"""A function that says whether an instruction, given by its number, can join the instructions that a region (one
compiled or checkpointed function) already contains.
"""


LEAST, ONE_IN = 3, 8
"""A region (one compiled or checkpointed function) that has at least `LEAST` instructions is ended, although it could
continue, at about one in `ONE_IN` of the following positions, which a hash of its length, its last instruction and the
next one selects.
"""


def ends_early(program: Program, at: int, run: Sequence[int]) -> bool:
    """Whether a region, whose instructions so far are `run`, ends before instruction `at` although that instruction
    could join it. Thus what one region computes in one program, several regions compute in another. The answer depends
    only on the length of `run`, on its last instruction and on instruction `at`, so that it is the same wherever a
    program contains them.
    """
    if len(run) < LEAST:
        return False
    text = f"{len(run)} {_computes(program[run[-1]])} {_computes(program[at])}"
    return crc32(text.encode()) % ONE_IN == 0


def _computes(step: Instruction) -> str:
    """Returns the computation of an instruction, without its operands: the op with its attributes, or the name of the
    instruction's class.
    """
    return f"{step.op} {step.attrs}" if isinstance(step, (Apply, InPlace)) else type(step).__name__


def regions(program: Program, can_join: CanJoin) -> Iterator[Region]:
    """Yields the regions of a program, in order. Each contains as many consecutive instructions as `can_join` allows,
    except for a few regions that end early.
    """
    run: list[int] = []
    for at, step in enumerate(program):
        if isinstance(step, Leaf):
            continue
        computes = isinstance(step, Computing)
        if run and not (computes and can_join(program, at, run) and not ends_early(program, at, run)):
            yield region_of(program, tuple(run))
            run = []
        if computes and (run or can_join(program, at, run)):
            run.append(at)
    if run:
        yield region_of(program, tuple(run))


def observed_regions(program: Program, observation: Observation) -> list[Region]:
    """Returns the regions in which a program was run, according to its observation."""
    return [region_of(program, steps) for steps in dict.fromkeys(region_steps(observation).values())]


def region_of(program: Program, steps: tuple[int, ...]) -> Region:
    """Returns the region that consists of some computing instructions, given by their numbers."""
    within = set(steps)
    made = [Ref(at, k) for at in steps for k in range(results(program[at]))]
    used = dict.fromkeys(ref for at in steps for ref in operands(program[at]))
    read = {ref for at in steps for ref in _read(program[at])}
    outside = {ref for at, step in enumerate(program) if at not in within for ref in operands(step)}
    exposed = [ref for ref in made if ref in outside or ref not in read]
    modes = _common(program.mode(at) for at in steps)
    return Region(steps, tuple(ref for ref in used if ref.at not in within), tuple(exposed), modes)


def region_key(program: Program, region: Region) -> Hashable:
    """Returns a key for the function that a region computes: regions have equal keys if they compute the same function,
    in whatever program.
    """
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
    """Returns the values that an instruction reads; a write's target does not count as read."""
    return step.args if isinstance(step, InPlace) else operands(step)


def _common(modes: Iterable[Modes]) -> Modes:
    """Returns the longest sequence of grad modes with which all of the given sequences begin."""
    first, *others = modes
    length = len(first)
    for other in others:
        while first[:length] != other[:length]:
            length -= 1
    return first[:length]
