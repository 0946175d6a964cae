"""Joins several programs into one, for frameworks in which compiling is expensive.

If the joined program violates a rule, the value in the violation identifies the faulty program: no value depends on
another program's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import assert_never

from autograd_conformance.checking.check import first_violation, is_advisory
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.programs.language import Apply, Backward, Grad, Instruction, Leaf, Program, Ref
from autograd_conformance.programs.observations import is_inconclusive
from autograd_conformance.programs.operands import refer, results
from autograd_conformance.rules.violations.violation import Violation

MOST = 24
"""Largest number of programs that `check_all` and `to_run_alone` join into one."""


@dataclass(frozen=True, slots=True)
class Joined:
    """A program that computes everything that several programs compute, with one call from all their roots."""

    program: Program
    parts: tuple[tuple[int, ...], ...]
    """Index of the program that each result of each instruction comes from. The call has a result for each input, if it
    returns gradients, else none.
    """

    def faulty_part(self, violation: Violation) -> int | None:
        """Returns the index of the program whose value or gradient is wrong; None if the violation names no value."""
        return None if violation.subject is None else self.parts[violation.subject.at][violation.subject.output]


def joined(programs: Iterable[Program]) -> Joined:
    """Joins several programs, each with one call at its end, into one. Either all calls return gradients or none
    does.
    """
    steps: list[Instruction] = []
    parts: list[tuple[int, ...]] = []
    calls: list[Backward | Grad] = []
    of_inputs: list[int] = []
    for number, program in enumerate(programs):
        *computing, call = program
        moved: dict[Ref, Ref] = {}
        for at, step in enumerate(computing):
            moved.update({Ref(at, k): Ref(len(steps), k) for k in range(results(step))})
            steps.append(refer(step, moved))
            parts.append((number,) * results(step))
        call = refer(call, moved)
        assert isinstance(call, Backward | Grad)
        calls.append(call)
        of_inputs += [number] * results(call)
    return Joined(Program((*steps, _joined_call(calls))), (*parts, tuple(of_inputs)))


def _joined_call(calls: Sequence[Backward | Grad]) -> Backward | Grad:
    """Returns one call from the roots of several calls, all of the same kind and with the same options."""
    roots = tuple(root for call in calls for root in call.roots)
    cotangents = tuple(cotangent for call in calls for cotangent in call.cotangents)
    match calls[0]:
        case Backward():
            return Backward(roots, cotangents)
        case Grad() as first:
            inputs = tuple(given for call in calls if isinstance(call, Grad) for given in call.inputs)
            return replace(first, roots=roots, inputs=inputs, cotangents=cotangents)
        case other:
            assert_never(other)


def can_join(program: Program) -> bool:
    """Returns whether a program only computes, and ends with one call without options. Every functional program says
    that unused inputs have gradients of zeros, which is no option here.
    """
    *computing, call = program
    match call:
        case Backward():
            plain = call == Backward(call.roots, call.cotangents)
        case Grad():
            plain = call == Grad(call.roots, call.inputs, call.cotangents, materialize_grads=True)
        case _:
            plain = False
    return plain and not program.modes and all(isinstance(step, (Leaf, Apply)) for step in computing)


def run_joined(whole: Joined, target: Target) -> tuple[bool, int | None]:
    """Runs joined programs. Returns whether all violate no rule and could be judged, and the index of the faulty
    program if it is known.
    """
    observation = target.observe(whole.program)
    violation = first_violation(whole.program, observation, target, is_advisory)
    if violation is None:
        return not is_inconclusive(*observation), None
    return False, whole.faulty_part(violation)


def to_run_alone(programs: Iterable[Program], target: Target) -> Iterator[Program]:
    """Yields the programs to run separately. If compiling is expensive, programs that pass when joined are left out,
    and a program that is known to be faulty comes first.
    """
    rest = iter(programs)
    while group := list(islice(rest, MOST if target.programs_each else 1)):
        together = [program for program in group if can_join(program)]
        yield from (program for program in group if not can_join(program))
        is_right, wrong = run_joined(joined(together), target) if len(together) > 1 else (False, None)
        if not is_right:
            yield from with_first(together, wrong)


def with_first(programs: Sequence[Program], number: int | None) -> Iterator[Program]:
    """Yields the programs, beginning with the one at index `number`."""
    if number is not None:
        yield programs[number]
    yield from (program for k, program in enumerate(programs) if k != number)
