"""Programs in one: where a framework takes long for each new unit, many are tried as one unit. One that is wrong there
is told by the value that is: what it computes hangs on no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from autograd_conformance.checking.check import first_violation, is_advisory
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.programs.language import Apply, Backward, Instruction, Leaf, Literal, Program, Ref
from autograd_conformance.programs.observations import is_inconclusive
from autograd_conformance.programs.operands import refer, results
from autograd_conformance.rules.violations.violation import Violation

MOST = 24
"""How many programs are one."""


@dataclass(frozen=True, slots=True)
class Joined:
    """A program that computes what all of some do, and ends in one call on all their roots."""

    program: Program
    parts: tuple[int, ...]
    """Which of the programs each of its instructions is from, but for the call."""

    def faulty_part(self, violation: Violation) -> int | None:
        """Which of the programs made the value that is not right, or holds the gradient; None where none is named."""
        return None if violation.subject is None else self.parts[violation.subject.at]


def joined(programs: Iterable[Program]) -> Joined:
    """Some programs as one."""
    steps: list[Instruction] = []
    parts: list[int] = []
    roots: list[Ref] = []
    cotangents: list[Literal | None] = []
    for number, program in enumerate(programs):
        *computing, call = program
        assert isinstance(call, Backward)
        moved: dict[Ref, Ref] = {}
        for at, step in enumerate(computing):
            moved.update({Ref(at, k): Ref(len(steps), k) for k in range(results(step))})
            steps.append(refer(step, moved))
            parts.append(number)
        roots += [moved[root] for root in call.roots]
        cotangents += call.cotangents
    return Joined(Program((*steps, Backward(tuple(roots), tuple(cotangents)))), tuple(parts))


def can_join(program: Program) -> bool:
    """Whether a program computes, and then calls backward once, with nothing said about the call."""
    *computing, call = program
    plain = isinstance(call, Backward) and call == Backward(call.roots, call.cotangents)
    return plain and not program.modes and all(isinstance(step, (Leaf, Apply)) for step in computing)


def run_joined(whole: Joined, target: Target) -> tuple[bool, int | None]:
    """Whether some programs are right as one, with every kernel there, and which of them is not, where one is named."""
    observation = target.observe(whole.program)
    violation = first_violation(whole.program, observation, target, is_advisory)
    if violation is None:
        return not is_inconclusive(*observation), None
    return False, whole.faulty_part(violation)


def to_run_alone(programs: Iterable[Program], target: Target) -> Iterator[Program]:
    """Those of some programs that are to be tried alone: where units cost much, none that are right as one, and first
    of all the one that shows there that it is wrong.
    """
    rest = iter(programs)
    while group := list(islice(rest, MOST if target.programs_each else 1)):
        together = [program for program in group if can_join(program)]
        yield from (program for program in group if not can_join(program))
        is_right, wrong = run_joined(joined(together), target) if len(together) > 1 else (False, None)
        if not is_right:
            yield from with_first(together, wrong)


def with_first(programs: Sequence[Program], number: int | None) -> Iterator[Program]:
    """Some programs, one of them before the others."""
    if number is not None:
        yield programs[number]
    yield from (program for k, program in enumerate(programs) if k != number)
