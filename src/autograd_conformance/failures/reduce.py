"""Reduces a failing program: removes the instructions, options, modes, elements and digits that the failure does not
need.

Hypothesis shrinks the draws of a strategy, and strategies draw whole situations. This last step removes single lines,
as long as the program breaks the same rule about the same op, or shows which op it is by the same error.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

from autograd_conformance.checking.check import is_advice, related_as
from autograd_conformance.checking.signature import signature_of
from autograd_conformance.checking.support.unsupported import unsupported_by
from autograd_conformance.failures.case import Case
from autograd_conformance.failures.smaller_casts import with_fewer_lines
from autograd_conformance.failures.smaller_tensors import with_smaller_tensors
from autograd_conformance.frameworks.loading.registry import AdapterError
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
from autograd_conformance.programs.observations import Kind
from autograd_conformance.programs.operands import results
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.rules.catalogue import RULES
from autograd_conformance.rules.relations.casts import has_casts
from autograd_conformance.rules.violations.observed import RaisedError
from autograd_conformance.rules.violations.violation import Violation

GRIDS = (1, 8)
"""Reducing tries to round the numbers of a program to multiples of 1/n, for each of these n, as such numbers are easy
to read."""

MAX_NUMBERS = 40
"""The numbers of a program are replaced by distinct ones, such as 3/2, 4/2, ..., only if all numerators stay below
this; else they would be long."""

UNCLEAR = 1000.0
"""Replacing the numbers of a program by distinct ones may reduce the error of the failing value, in units of its bound,
by this factor at most."""

TRIES = 200
"""Number of smaller programs after which the reduction of one failure ends."""


def reduced(case: Case, known: Sequence[Known] = (), tries: int = TRIES, keeps_numbers: bool = False) -> Case:
    """Returns the same failure in the smallest program found. Of two related programs, only the numbers are changed,
    unless one writes out the casts of the other. With `keeps_numbers`, the numbers stay those of the program, which
    somebody wrote.

    The search takes at most half of the time until the case's deadline.
    """
    if case.related is not None:
        case = with_fewer_lines(case, known, tries) if has_casts(case.program) else case
        return case if keeps_numbers else _related_with_distinct_numbers(case, known)
    before, left, until = None, tries, case.middle()
    case = _with_smaller_tensors(without_later_lines(case, known), known, until)
    while before != case.program and left > 0 and time.monotonic() < until:
        before, at = case.program, len(case.program)
        while at > 0 and left > 0 and time.monotonic() < until:
            at = min(at, len(case.program)) - 1
            for smaller in _smaller(case.program, at, at == case.violation.at, keeps_numbers):
                left -= 1
                found = _same_failure(case, smaller, known)
                if found is not None:
                    case = found
                    break
    if keeps_numbers:
        return case
    distinct = (_same_failure(case, program, known) for program in _with_distinct_numbers(case.program))
    return next((found for found in distinct if found is not None and _is_as_clear(found, case)), case)


def without_later_lines(case: Case, known: Sequence[Known] = ()) -> Case:
    """Returns the same failure without the instructions after the failing one, if it fails without these."""
    return _same_failure(case, case.program.upto(case.violation.at + 1), known) or case


def _with_smaller_tensors(case: Case, known: Sequence[Known], until: float) -> Case:
    """Returns the same failure with parts of its largest tensors, as small as they can be, or as small as they are at
    the time `until`.
    """
    while time.monotonic() < until:
        smaller = with_smaller_tensors(case.program, case.violation)
        found = next((each for program in smaller if (each := _same_failure(case, program, known)) is not None), None)
        if found is None:
            break
        case = found
    return case


def _smaller(program: Program, at: int, failing: bool, keeps_numbers: bool) -> Iterator[Program]:
    """Yields programs in which one instruction, number `at`, is removed, bypassed or simplified. If it is the failing
    instruction, it stays, and so do numbers with `keeps_numbers`.
    """
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
    if not keeps_numbers:
        yield from (replaced(program, at, simpler) for simpler in _simpler(step))


def _simpler(step: Instruction) -> Iterator[Instruction]:
    """Yields the instruction with its numbers rounded to whole numbers, or to eighths."""
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
    """Yields the program with a different number in each place, so that different faults give different results: with
    the number 1, a product equals its factor, and with 2, x + x equals x * x.

    Further variants keep equal tensors equal, or use smaller numbers, in case the failure needs that.
    """
    for parts, equal in ((2, False), (2, True), (10, False), (10, True)):
        changed = _with_numbers(program, parts, equal)
        if changed is not None:
            yield changed


def _related_with_distinct_numbers(case: Case, known: Sequence[Known]) -> Case:
    """Returns the same failure with distinct numbers in both programs, equal tensors staying equal. The case is
    unchanged if the relation may depend on the numbers.
    """
    related = case.pair
    if not RULES[related.rule].same_work:
        return case
    size = len(related.first)
    joined = Program((*related.first, *related.second))
    for parts in (2, 10):
        changed = _with_numbers(joined, parts, True)
        if changed is None:
            continue
        first = replace(related.first, instructions=changed.instructions[:size])
        second = replace(related.second, instructions=changed.instructions[size:])
        other = replace(related, first=first, second=second)
        one, two = case.judge(first), case.judge(second)
        found = related_as(other, one.observation, two.observation, case.target).violation
        if found is None or (found.rule, found.at) != (case.violation.rule, case.violation.at):
            continue
        if one.is_smooth and two.is_smooth and not any(is_known(entry, first, found) for entry in known):
            return replace(case.failing_with(one, found), related=other)
    return case


def _is_as_clear(found: Case, original: Case) -> bool:
    """Whether the error in the program with distinct numbers, at which an op may be nearly constant, is at least 1 /
    `UNCLEAR` of the original one, each in units of its bound.
    """
    return _error_in_bounds(found.violation) * UNCLEAR >= _error_in_bounds(original.violation)


def _error_in_bounds(violation: Violation) -> float:
    """Returns the largest error of the failing value, in units of its bound; 1 if the violation is not about
    numbers.
    """
    got, want, bound = violation.got, violation.want, violation.bound
    if got is None or want is None or bound is None or not got.size or not np.all(bound):
        return 1.0
    return float(np.max(np.abs(got - want) / bound))


def _with_numbers(program: Program, parts: int, equal: bool) -> Program | None:
    """Returns the program with the numbers 3, 4, 5, ... divided by `parts`; None if it has too many numbers. With
    `equal`, equal tensors stay equal.
    """
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
    """Returns the tensor with its elements rounded to multiples of 1 / `parts`."""
    return replace(value, data=tuple(round(x * parts) / parts if x - x == 0 else x for x in value.data))


def _is_same(found: Violation, program: Program, case: Case) -> bool:
    """Whether a violation of a smaller program is that of the case. If the case blames no op, the smaller program may
    show which one it is, by the same error. An error of no known kind may be raised by another rule's program. Operands
    may not become special, if the case fails without that.
    """
    original = case.violation
    if (found.rule, found.op) == (original.rule, original.op):
        special = None if original.op is None else signature_of(program, found).special
        return special is None or special == signature_of(case.program, original).special
    same_rule = found.rule == original.rule and original.op is None
    if not same_rule and not _is_same_unknown_error(found, original):
        return False
    return signature_of(program, found).got == signature_of(case.program, original).got is not None


def _is_same_unknown_error(found: Violation, original: Violation) -> bool:
    """Whether both violations are errors of no known kind, by rules that calls must return by. If the smaller program
    raises the error, too, what the rule of the case is about is not needed for it.
    """
    errors = (found.observed, original.observed)
    unknown = all(isinstance(each, RaisedError) and each.kind is Kind.UNKNOWN for each in errors)
    return unknown and (original.op is None or found.op == original.op)


def _same_failure(case: Case, program: Program, known: Sequence[Known]) -> Case | None:
    """Runs another program, and returns its case; None if that program is invalid, needs what the framework does not
    claim, or does not fail in the same way.
    """
    original = case.violation

    def waives(violation: Violation) -> bool:
        """Whether judging continues after a violation: known differences and violations of SHOULD rules do not end
        it.
        """
        same = (violation.rule, violation.op) == (original.rule, original.op)
        return not same and (is_advice(violation.rule) or any(is_known(entry, program, violation) for entry in known))

    if not program.instructions or not is_valid(program):
        return None
    try:
        if not unsupported_by(program, case.target) <= unsupported_by(case.program, case.target):
            return None
        judged = case.judge(program)
        found = judged.violation_unless(waives)
        without = RULES[original.rule].compares.has_no_reference
        smooth = found is None or without or judged.is_smooth  # else a correct framework may fail, too
    except (Exception, AdapterError):  # operands of shapes that the op does not take, or other result counts
        return None
    if found is None or not _is_same(found, program, case):
        return None
    if type(program[found.at]) is not type(case.program[original.at]):
        return None
    if not smooth or any(is_known(entry, program, found) for entry in known):
        return None
    return case.failing_with(judged, found) if judged.is_legal else None
