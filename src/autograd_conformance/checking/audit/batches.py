"""Checks many programs of ops with few compilations: if compiling is expensive, several programs are joined into one,
and run separately only if the joined program violates a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import get_args
from unittest import SkipTest

from autograd_conformance.checking.audit.joining import MOST, can_join, joined, run_joined, with_first
from autograd_conformance.checking.audit.programs import sample
from autograd_conformance.checking.category import category_of
from autograd_conformance.checking.check import Check, RuleViolated, first_violation
from autograd_conformance.checking.signature import signature_of
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.programs.language import Program
from autograd_conformance.reporting.records.failure import Severity

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""The severities of violations, the worst first."""

GROUP = 16
"""Largest number of ops whose programs are joined into one batch."""


def check_all(check: Check, programs: Iterable[Program], plain: Callable[[Program], Program] | None = None) -> None:
    """Checks programs: each on its own, or, if compiling is expensive, many joined into one. If the joined program
    violates a rule, each is checked on its own.

    Raises the first wrong value; if there is none, the worst violation: an error that is missing, another error, or a
    wrong form. A program that raises an error says nothing about the values of others. Of equally bad violations, one
    counts whose operands have nothing special: a fault of all operands is not one of operands without a batch.

    `plain` returns a program with ordinary numbers in place of special ones. A violation does not count if that program
    violates a rule, too: then that violation counts, unless it is a known difference.
    """
    rest, worst, report, before = iter(programs), None, check.on_violation, check.shortest
    least = len(SEVERITIES), True
    check.on_violation = None
    try:
        while group := list(islice(rest, MOST if check.target.programs_each else 1)):
            try:
                _check_group(check, group)
            except RuleViolated as broken:
                found = broken if plain is None else _simpler(check, broken, plain(broken.program))
                if found is not None and (rank := _rank(found)) < least:
                    worst, least = found, rank
                if not least[0]:
                    break
    except SkipTest:  # the test's share of the budget ended
        if worst is None:
            raise
    finally:
        check.on_violation, check.shortest = report, before  # joined programs may show a known difference
    if worst is not None:
        _raise(check, worst)


def _simpler(check: Check, broken: RuleViolated, program: Program) -> RuleViolated | None:
    """Returns the violation that a simpler program shows; if it shows none, the given one. None if the simpler program
    shows a known difference.
    """
    if first_violation(program, check.target.observe(program), check.target) is None:
        return broken
    try:
        check(program)
    except RuleViolated as simpler:
        return simpler
    return None


def _rank(broken: RuleViolated) -> tuple[int, bool]:
    """Returns the place of a violation among those of one op, 0 for a wrong value, the worst; and whether its operands
    have something special.
    """
    special = signature_of(broken.program, broken.violation).special
    return SEVERITIES.index(category_of(broken.violation).severity), special is not None


def _raise(check: Check, broken: RuleViolated) -> None:
    """Raises a violation as the one that a test found."""
    check.shortest = broken
    if check.on_violation is not None:
        check.on_violation(broken)
    raise broken


def _check_group(check: Check, group: Sequence[Program]) -> None:
    together = [program for program in group if can_join(program)]
    alone = [program for program in group if not can_join(program)]
    for program in alone if len(together) > 1 else group:
        check(program)
    if len(together) > 1:
        _check_joined(check, together)


def _check_joined(check: Check, programs: Sequence[Program]) -> None:
    """Checks programs joined into one. If the joined program violates a rule, checks each separately, and then again
    joined those that show no known difference.
    """
    whole = joined(programs)
    try:
        check(whole.program)
    except RuleViolated as broken:
        singly = with_first(programs, whole.faulty_part(broken.violation))
        right = [program for program in singly if not _check_for_known(check, program)]
        if len(right) == len(programs):
            raise
        check_all(check, right)


def _check_for_known(check: Check, program: Program) -> bool:
    """Checks a program and returns whether it shows a known difference. Raises `RuleViolated` at any other
    violation.
    """
    before = check.differences.total()
    check(program)
    return check.differences.total() > before


def passing_in_batch(ops: Sequence[str], target: Target, dtypes: Sequence[str]) -> Iterator[str]:
    """Yields the ops whose programs violate no rule when they are joined into one.

    If a joined program violates a rule, the faulty op is left out and the rest is joined again. If the violation names
    no op, as for an error of the whole program, the batch is halved.
    """
    samples = [(op, program) for op in ops for dtype in dtypes if (program := sample(op, 0, dtype))]
    samples = [(op, program) for op, program in samples if can_join(program)]
    is_right, part = run_joined(joined(program for _, program in samples), target) if samples else (False, None)
    if is_right:
        yield from dict.fromkeys(op for op, _ in samples)  # an op without a program has no outcome yet
    elif part is not None:
        yield from passing_in_batch([op for op in ops if op != samples[part][0]], target, dtypes)
    elif len(ops) > 1:
        half = len(ops) // 2
        yield from passing_in_batch(ops[:half], target, dtypes)
        yield from passing_in_batch(ops[half:], target, dtypes)
