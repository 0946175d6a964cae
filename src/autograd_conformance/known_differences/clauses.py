"""What names the case of a violation: the keys of an entry that hold for it, each with what it says.

What the programs that broke a rule have in common tells their case from others, but for what the programs that kept the
rule have in common, too: a key that holds wherever the rule is put to the test names nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from math import prod
from typing import TypeAlias

from autograd_conformance.known_differences.calls import CALLS
from autograd_conformance.known_differences.conditions import CONDITIONS, ops_of, subject_of
from autograd_conformance.known_differences.entry import Known
from autograd_conformance.known_differences.entry_checks import imagined
from autograd_conformance.known_differences.keys import KEYS, USUAL
from autograd_conformance.known_differences.subject import shape_of
from autograd_conformance.programs.language import INSTRUCTIONS, Apply, Hook, Instruction, Program, Step
from autograd_conformance.rules.violations.violation import Violation

Clause: TypeAlias = tuple[str, str | int]
"""A key, and what an entry may say under it."""

OF_OPS = ("operand_written", "region_returns_op")
"""Flags that are about the op which the violation names."""

FLAGS = tuple(key for key, row in KEYS.items() if row.is_flag and key in CONDITIONS and key not in OF_OPS)
"""Flags that hold or do not hold for any violation, whichever op the violation names."""

OUTCOMES = ("returned",)
"""What was observed; it narrows a case, and does not name it, for any fault of the rule may look like it."""


def clauses_of(program: Program, violation: Violation) -> frozenset[Clause]:
    """All that an entry might say of a violation's case."""
    return holding({*_words(program, violation.at), *_of_violation(program, violation)}, program, violation)


def holding(clauses: Iterable[Clause], program: Program, violation: Violation) -> frozenset[Clause]:
    """Those of some clauses that hold for a violation."""
    return frozenset(clause for clause in clauses if _holds(clause, program, violation))


def in_common(
    program: Program, units: Mapping[int, tuple[int, ...]], among: Collection[Clause] | None
) -> frozenset[Clause]:
    """The clauses, of all or `among` some, that hold at some instruction of a program which broke no rule."""
    places = [each.in_regions(units) for each in imagined(program)]
    if among is None:
        ops = {("op", step.op) for step in program if isinstance(step, Apply)}
        among = {*_words(program, len(program)), *ops, *((flag, True) for flag in FLAGS)}
    return frozenset(clause for clause in among if any(_holds(clause, program, each) for each in places))


def naming(clauses: Iterable[Clause]) -> frozenset[Clause]:
    """Those of some clauses that name a case."""
    return frozenset((key, value) for key, value in clauses if key not in OUTCOMES and KEYS[key].names_the_case(value))


def _holds(clause: Clause, program: Program, violation: Violation) -> bool:
    key, value = clause
    said = {"op": violation.op, key: value}
    op = said.pop("op")
    return CONDITIONS[key](Known("", op, "", program, **said), program, violation)  # type: ignore[arg-type]


def _of_violation(program: Program, violation: Violation) -> Iterator[Clause]:
    yield from (("op", op) for op in ops_of(program, violation))
    yield from ((flag, True) for flag in FLAGS)
    yield from ((flag, True) for flag in OF_OPS if violation.op is not None)
    failing = program[violation.at]
    if isinstance(failing, CALLS):
        yield "call", str(INSTRUCTIONS[type(failing)].notation)
    if isinstance(failing, Step):
        yield "step", failing.optimizer
    shape = shape_of(program, subject_of(program, violation), violation)
    if shape is not None:
        yield "dimensions", len(shape)
        yield "elements", prod(shape)


def _words(program: Program, at: int) -> set[Clause]:
    """What stands before instruction `at`, in the words of `after`."""
    words = {word for step in program.instructions[:at] for word in _words_of(step)}
    return {("after", word) for word in words if word not in USUAL}


def _words_of(step: Instruction) -> Iterator[str]:
    match step:
        case Apply(op):
            yield op
        case Hook():
            yield f"hook {step.effect}"
        case Step():
            yield step.optimizer
        case _:
            yield str(INSTRUCTIONS[type(step)].notation)
