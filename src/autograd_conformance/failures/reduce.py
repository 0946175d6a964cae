"""The last shrinking: a failing program without the instructions, the options, the modes and the digits that have no
part in it.

Hypothesis shrinks what a strategy drew, and strategies draw whole situations. Here single lines go, as long as what is
left breaks the same rule about the same op.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

from autograd_conformance.checking.check import RuleViolated, first_violation, is_advice, related_as
from autograd_conformance.frameworks.registry import AdapterError
from autograd_conformance.known_differences import Known, is_known
from autograd_conformance.programs.editing import bypassed, is_valid, pruned, replaced, with_modes, without_leaf
from autograd_conformance.programs.language import (
    Apply,
    Backward,
    BackwardCall,
    Detach,
    Grad,
    Instruction,
    Leaf,
    Literal,
    Program,
    Ref,
)
from autograd_conformance.programs.operands import results
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.rules.relations.relation import Related
from autograd_conformance.rules.violations.violation import Violation
from autograd_conformance.tape.trace import is_smooth_throughout

GRIDS = (1, 8)
"""Into how many parts one is divided, by numbers that a person reads easily."""

MAX_NUMBERS = 40
"""How many numbers a program has at most that all are different: more would be long ones."""

UNCLEAR = 1000.0
"""By how much less a value may be wrong with numbers that are told apart."""

TRIES = 200
"""How many smaller programs are run for one failure."""


def reduced(
    broken: RuleViolated, known: Sequence[Known] = (), tries: int = TRIES, until: float = math.inf
) -> RuleViolated:
    """The same failure in the smallest program that was found; where two programs are related, with other numbers at
    most. Without tries only what stands behind the failing line is left out. `until` is when the search has to end, on
    the monotonic clock.
    """
    if broken.related is not None:
        return _related_with_distinct_numbers(broken, broken.related, known) if tries else broken
    broken = _same_failure(broken, broken.program.upto(broken.violation.at + 1), known) or broken
    before, left = None, tries
    while before != broken.program and left > 0 and time.monotonic() < until:
        before, at = broken.program, len(broken.program)
        while at > 0 and left > 0 and time.monotonic() < until:
            at = min(at, len(broken.program)) - 1
            for smaller in _smaller(broken.program, at, at == broken.violation.at):
                left -= 1
                found = _same_failure(broken, smaller, known)
                if found is not None:
                    broken = found
                    break
    distinct = (
        (_same_failure(broken, program, known) for program in _with_distinct_numbers(broken.program)) if tries else ()
    )
    return next((found for found in distinct if found is not None and _is_as_clear(found, broken)), broken)


def _smaller(program: Program, at: int, failing: bool) -> Iterator[Program]:
    """Programs in which one instruction is gone, is passed by, or is simpler; the failing one stays."""
    step = program[at]
    if not failing:
        yield pruned(program, at)
    if isinstance(step, Leaf) and (passed_by := without_leaf(program, Ref(at))) != program:
        yield passed_by
    if isinstance(step, (Apply, Detach)) and results(step) == 1 and not failing:
        sources: tuple[Ref, ...] = step.args if isinstance(step, Apply) else (step.source,)
        for source in dict.fromkeys(sources):
            yield pruned(bypassed(program, at, source), at)
    if isinstance(step, BackwardCall) and step.retain_graph is not None:
        yield replaced(program, at, replace(step, retain_graph=None))
    if isinstance(step, BackwardCall) and step.create_graph:
        yield replaced(program, at, replace(step, create_graph=False))
    if program.mode(at):
        yield with_modes(program, at, ())
    yield from (replaced(program, at, simpler) for simpler in _simpler(step))


def _simpler(step: Instruction) -> Iterator[Instruction]:
    """An instruction with whole numbers, or eighths, in the place of those that it holds."""
    for parts in GRIDS:
        match step:
            case Leaf(value):
                simple: Instruction = replace(step, value=_rounded(value, parts))
            case Backward() | Grad():
                given = tuple(None if c is None else _rounded(c, parts) for c in step.cotangents)
                simple = replace(step, cotangents=given)
            case _:
                return
        if simple != step:
            yield simple


def _with_distinct_numbers(program: Program) -> Iterator[Program]:
    """The program with another number in each place, so that no two readings of a result agree by accident: with 1 a
    product is its factor, and with 2 a sum is a product. Where it needs tensors that are equal, or small numbers, only
    different ones differ, or all are small.
    """
    for parts, equal in ((2, False), (2, True), (10, False), (10, True)):
        changed = _with_numbers(program, parts, equal)
        if changed is not None:
            yield changed


COPIES = ("relations/order", "relations/sharing", "relations/interleaved", "training/apart")
"""Rules about programs that compute the same from the same tensors, whatever is in them."""


def _related_with_distinct_numbers(broken: RuleViolated, related: Related, known: Sequence[Known]) -> RuleViolated:
    """The same failure with other numbers in both programs, tensors of both being the same in both; as it is, where
    they may be related by their numbers.
    """
    if related.rule not in COPIES:
        return broken
    size, target = len(related.first), broken.target
    joined = Program((*related.first, *related.second))
    for parts in (2, 10):
        changed = _with_numbers(joined, parts, True)
        if changed is None:
            continue
        first = replace(related.first, instructions=changed.instructions[:size])
        second = replace(related.second, instructions=changed.instructions[size:])
        other = replace(related, first=first, second=second)
        seen, beside = target.observe(first), target.observe(second)
        found = related_as(other, seen, beside, target).violation
        if found is None or (found.rule, found.at) != (broken.violation.rule, broken.violation.at):
            continue
        if not all(is_smooth_throughout(each, saw, target.traits) for each, saw in ((first, seen), (second, beside))):
            continue
        if not any(is_known(entry, first, found) for entry in known):
            return type(broken)(first, seen, found, target, other)
    return broken


def _is_as_clear(found: RuleViolated, original: RuleViolated) -> bool:
    """Whether what is wrong is not much less so with other numbers: an op may be flat there."""
    return _error_in_bounds(found.violation) * UNCLEAR >= _error_in_bounds(original.violation)


def _error_in_bounds(violation: Violation) -> float:
    """How far a value is from the right one, in bounds; 1 where no two are compared."""
    got, want, bound = violation.got, violation.want, violation.bound
    if got is None or want is None or bound is None or not got.size or not np.all(bound):
        return 1.0
    return float(np.max(np.abs(got - want) / bound))


def _with_numbers(program: Program, parts: int, equal: bool) -> Program | None:
    """The program with 3, 4, 5, ... of so many parts for its numbers; tensors that are equal may stay equal."""
    numbers, known = count(3), dict[tuple[type, Literal], Literal]()

    def other(value: Literal, of: type) -> Literal:
        kind = np.dtype(value.dtype).type
        new = known.get((of, value)) or replace(
            value, data=tuple(float(kind(next(numbers) / parts)) for _ in value.data)
        )
        if equal:
            known[of, value] = new
        return new

    steps: list[Instruction] = []
    for step in program:
        match step:
            case Leaf(value):
                steps.append(replace(step, value=other(value, Leaf)))
            case Backward() | Grad():
                given = tuple(None if c is None else other(c, Backward) for c in step.cotangents)
                steps.append(replace(step, cotangents=given))
            case _:
                steps.append(step)
    return replace(program, instructions=tuple(steps)) if next(numbers) <= MAX_NUMBERS else None


def _rounded(value: Literal, parts: int) -> Literal:
    """A tensor whose elements are multiples of one part of one."""
    return replace(value, data=tuple(round(x * parts) / parts if x - x == 0 else x for x in value.data))


def _same_failure(broken: RuleViolated, program: Program, known: Sequence[Known]) -> RuleViolated | None:
    """The failure in another program, where that is a program and fails in the same way."""
    target, original = broken.target, broken.violation

    def waives(violation: Violation) -> bool:
        """What does not end the search for the failure: what is known, or no more than advice."""
        same = (violation.rule, violation.op) == (original.rule, original.op)
        return not same and (is_advice(violation.rule) or any(is_known(entry, program, violation) for entry in known))

    if not program.instructions or not is_valid(program):
        return None
    try:
        observation = target.observe(program)
        found = first_violation(program, observation, target, waives)
        smooth = found is None or is_smooth_throughout(
            program, observation, target.traits
        )  # else a right one may fail, too
    except (Exception, AdapterError):  # operands of shapes that an op does not take, or makes more results of
        return None
    if found is None or (found.rule, found.op) != (original.rule, original.op):
        return None
    if type(program[found.at]) is not type(broken.program[original.at]):
        return None
    if not smooth or any(is_known(entry, program, found) for entry in known):
        return None
    return type(broken)(program, observation, found, target)
