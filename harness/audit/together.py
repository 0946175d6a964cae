"""Several programs in one: where a framework takes long for each new unit, ops are tried together, and singly only
where that goes wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from autograd_conformance.frameworks.base import Target
from autograd_conformance.harness.audit.programs import sample
from autograd_conformance.harness.check import Broken, Check, advises, judged
from autograd_conformance.programs.language import Apply, Backward, Instruction, Leaf, Literal, Program, Ref
from autograd_conformance.programs.operands import refer, results

MOST = 24
"""How many programs are one."""

GROUP = 16
"""How many ops are tried together."""


def joined(programs: Iterable[Program]) -> Program:
    """A program that computes what all of some do, and ends in one call on all their roots."""
    steps: list[Instruction] = []
    roots: list[Ref] = []
    cotangents: list[Literal | None] = []
    for program in programs:
        *computing, call = program
        assert isinstance(call, Backward)
        moved: dict[Ref, Ref] = {}
        for at, step in enumerate(computing):
            moved.update({Ref(at, k): Ref(len(steps), k) for k in range(results(step))})
            steps.append(refer(step, moved))
        roots += [moved[root] for root in call.roots]
        cotangents += call.cotangents
    return Program((*steps, Backward(tuple(roots), tuple(cotangents))))


def can_join(program: Program) -> bool:
    """Whether a program computes, and then calls backward once, with nothing said about the call."""
    *computing, call = program
    plain = isinstance(call, Backward) and call == Backward(call.roots, call.cotangents)
    return plain and not program.modes and all(isinstance(step, (Leaf, Apply)) for step in computing)


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
    try:
        check(joined(programs))
    except Broken:
        for program in programs:
            check(program)
        raise


def right_together(ops: Sequence[str], target: Target, dtypes: Sequence[str]) -> Iterator[str]:
    """Those of some ops that break no rule in a program of several, which is halved as long as it breaks one."""
    programs = [program for op in ops for dtype in dtypes if (program := sample(op, 0, dtype)) and can_join(program)]
    whole = joined(programs) if programs else None
    if whole is not None and judged(whole, target.observe(whole), target, advises) is None:
        yield from ops
    elif len(ops) > 1:
        half = len(ops) // 2
        yield from right_together(ops[:half], target, dtypes)
        yield from right_together(ops[half:], target, dtypes)
