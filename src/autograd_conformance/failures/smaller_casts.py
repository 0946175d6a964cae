"""Reduces a failing program under autocast: removes instructions, and writes the casts of each smaller program out
again.

A program without the lines that its rule is about may fail as well. Then the failure is of the rule that is about the
smaller program: a product that is wrong in each block is not one that is wrong after a use without recording.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from autograd_conformance.checking.check import is_advice, related_as
from autograd_conformance.checking.support.unsupported import unsupported_by
from autograd_conformance.failures.case import Case
from autograd_conformance.frameworks.loading.registry import AdapterError
from autograd_conformance.known_differences import Known, is_known
from autograd_conformance.programs.editing import bypassed, is_valid, pruned, with_modes
from autograd_conformance.programs.language import Apply, Program
from autograd_conformance.programs.operands import results
from autograd_conformance.rules.relations.casts import has_casts, with_casts


def with_fewer_lines(case: Case, known: Sequence[Known], tries: int) -> Case:
    """Returns the failure of the smallest program under autocast that was found in a number of tries, and in half of
    the time until the case's deadline.
    """
    before, until = None, case.middle()
    case = _failing(case, case.program.upto(case.violation.at + 1), known) or case
    while before != case.program and tries > 0 and time.monotonic() < until:
        before, at = case.program, len(case.program)
        while at > 0 and tries > 0 and time.monotonic() < until:
            at = min(at, len(case.program)) - 1
            for smaller in _smaller(case.program, at):
                tries -= 1
                found = _failing(case, smaller, known)
                if found is not None:
                    case = found
                    break
    return case


def _smaller(program: Program, at: int) -> Iterator[Program]:
    """Yields programs in which an instruction is removed, passed by, or in fewer modes."""
    step, modes = program[at], program.mode(at)
    yield pruned(program, at)
    if isinstance(step, Apply) and results(step) == 1:
        yield from (pruned(bypassed(program, at, source), at) for source in dict.fromkeys(step.args))
    if len(modes) > 1:
        yield from (with_modes(program, at, (*modes[:k], *modes[k + 1 :])) for k in range(len(modes)))


def _failing(case: Case, program: Program, known: Sequence[Known]) -> Case | None:
    """Returns the case of a program under autocast; None if it cannot run, or shows nothing that is as bad."""
    if not program.instructions or not is_valid(program) or not has_casts(program):
        return None
    try:
        pair = with_casts(program, case.target.autocast)
        if unsupported_by(pair.first, case.target) or unsupported_by(pair.second, case.target):
            return None
        one, two = case.judge(pair.first), case.judge(pair.second)
        found = related_as(pair, one.observation, two.observation, case.target).violation
    except (Exception, AdapterError):  # operands of shapes that the op does not take, or ops that are not documented
        return None
    if found is None or any(is_known(entry, program, found) for entry in known):
        return None
    is_weaker = is_advice(found.rule) and not is_advice(case.violation.rule)
    same = type(found.observed) is type(case.violation.observed)
    return replace(case.failing_with(one, found), related=pair) if same and not is_weaker else None
