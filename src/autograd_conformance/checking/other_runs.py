"""Other runs of a program: without the mode that is tested, and in float64, for rules that compare runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.programs.language import Apply, BackwardCall, Instruction, Leaf, Literal, Program
from autograd_conformance.programs.observations import Observation
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.rules.judge.checks.kinks import OtherRuns


def other_runs(target: Target) -> OtherRuns:
    """Returns a function that runs a program without the framework's mode (a compiler, a batch, checkpoints), if it
    has one; and a program in float32 also in float64.
    """

    def run(program: Program) -> Iterator[tuple[str, Observation]]:
        return ((words, other.observe(its_program)) for words, its_program, other in other_ways(program, target))

    return run


def other_ways(program: Program, target: Target) -> Iterator[tuple[str, Program, Target]]:
    """Yields the other ways to run a program: words for each, the program that runs, and the framework that runs it."""
    for words, plain in _plainest(target):  # type: ignore[arg-type]  # each target is hashable
        if _uses(program) <= {*plain.ops} and _dtypes(program) <= {*plain.dtypes}:
            yield words, program, plain
    if _dtypes(program) == {"float32"} and "float64" in target.dtypes and not _rounds(program):
        yield "in float64", _widened(program), target


@lru_cache(maxsize=4)
def _plainest(target: Target) -> tuple[tuple[str, Target], ...]:
    """Returns the framework without the mode, and the words for it; empty without a mode. It is kept, because it may
    be a process.
    """
    return tuple((words, plain.crash_as_error()) for words, plain in list(target.simpler_modes().items())[-1:])


def _uses(program: Program) -> set[str]:
    return {step.op for step in program if isinstance(step, Apply)}


def _literals(program: Program) -> Iterable[Literal]:
    for step in program:
        if isinstance(step, Leaf):
            yield step.value
        elif isinstance(step, BackwardCall):
            yield from filter(None, step.cotangents)


def _dtypes(program: Program) -> set[str]:
    return {literal.dtype for literal in _literals(program)}


def _rounds(program: Program) -> bool:
    """Whether an attribute is a number that float32 does not have: it is another kink in float64."""
    attrs = [value for step in program if isinstance(step, Apply) for _, value in step.attrs]
    return any(isinstance(value, float) and float(np.float32(value)) != value for value in attrs)


def _widened(program: Program) -> Program:
    """Returns a program with the same numbers in float64."""
    return replace(program, instructions=tuple(map(_wide, program.instructions)))


def _wide(step: Instruction) -> Instruction:
    if isinstance(step, Leaf):
        return replace(step, value=replace(step.value, dtype="float64"))
    if isinstance(step, BackwardCall):
        given = [literal and replace(literal, dtype="float64") for literal in step.cotangents]
        return replace(step, cotangents=tuple(given))
    return step
