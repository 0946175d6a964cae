"""Ops tried together, and singly only where that goes wrong: where a framework takes long for each new unit, they are
joined in one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from autograd_conformance.checking.audit.joining import MOST, can_join, joined, run_joined, with_first
from autograd_conformance.checking.audit.programs import sample
from autograd_conformance.checking.check import Check, RuleViolated
from autograd_conformance.frameworks.adapter import Target
from autograd_conformance.programs.language import Program

GROUP = 16
"""How many ops are tried together."""


def check_all(check: Check, programs: Iterable[Program]) -> None:
    """Check some programs: each by itself; where units cost much, many in one, and each where that breaks a rule."""
    rest = iter(programs)
    while group := list(islice(rest, MOST if check.target.programs_each else 1)):
        together = [program for program in group if can_join(program)]
        alone = [program for program in group if not can_join(program)]
        for program in alone if len(together) > 1 else group:
            check(program)
        if len(together) > 1:
            _check_joined(check, together)


def _check_joined(check: Check, programs: Sequence[Program]) -> None:
    """Check some programs as one. Where that breaks a rule, each by itself, and again as one those that show no known
    difference: it is no fault of theirs.
    """
    whole = joined(programs)
    try:
        check(whole.program)
    except RuleViolated as broken:
        singly = with_first(programs, whole.faulty_part(broken.violation))
        right = [program for program in singly if not _is_known_to_differ(check, program)]
        if len(right) == len(programs):
            raise
        check_all(check, right)


def _is_known_to_differ(check: Check, program: Program) -> bool:
    """Whether a program shows a known difference, and breaks no rule otherwise."""
    before = check.differences.total()
    check(program)
    return check.differences.total() > before


def passing_in_batch(ops: Sequence[str], target: Target, dtypes: Sequence[str]) -> Iterator[str]:
    """Those of some ops that break no rule in a program of several. Where it breaks one, the op that is wrong is left
    out of the next; where none is named, as where the whole is refused, it is halved.
    """
    samples = [(op, program) for op in ops for dtype in dtypes if (program := sample(op, 0, dtype))]
    samples = [(op, program) for op, program in samples if can_join(program)]
    is_right, part = run_joined(joined(program for _, program in samples), target) if samples else (False, None)
    if is_right:
        yield from dict.fromkeys(op for op, _ in samples)  # of an op without any, nothing is known yet
    elif part is not None:
        yield from passing_in_batch([op for op in ops if op != samples[part][0]], target, dtypes)
    elif len(ops) > 1:
        half = len(ops) // 2
        yield from passing_in_batch(ops[:half], target, dtypes)
        yield from passing_in_batch(ops[half:], target, dtypes)
