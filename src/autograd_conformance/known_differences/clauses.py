"""The keys of an entry that are true of a violation, each with its value: from these `--update-known` chooses the keys
that name the case.

A key names the case if it is true of all programs that broke the rule, and false for some program that kept the rule. A
key that is true of every program that tests the rule names nothing.
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
"""A key of an entry and its value."""

OF_OPS = ("operand_written", "region_returns_op")
"""Flags that are about the op which the violation names."""

FLAGS = tuple(key for key, row in KEYS.items() if row.is_flag and key in CONDITIONS and key not in OF_OPS)
"""Flags that do not depend on the op of the entry."""

OUTCOMES = ("returned",)
"""Keys for the observed outcome. They narrow an entry and do not name its case, since any violation of the rule may
have the same outcome.
"""


def clauses_of(program: Program, violation: Violation) -> frozenset[Clause]:
    """All clauses that an entry for this violation may contain."""
    return holding({*_words(program, violation.at), *_of_violation(program, violation)}, program, violation)


def holding(clauses: Iterable[Clause], program: Program, violation: Violation) -> frozenset[Clause]:
    """The clauses that are true of a violation."""
    return frozenset(clause for clause in clauses if _holds(clause, program, violation))


def in_common(
    program: Program, regions: Mapping[int, tuple[int, ...]], among: Collection[Clause] | None
) -> frozenset[Clause]:
    """The clauses that are true at some instruction of a program which broke no rule: of all clauses, or of those in
    `among`.
    """
    places = [each.in_regions(regions) for each in imagined(program)]
    if among is None:
        ops = {("op", step.op) for step in program if isinstance(step, Apply)}
        among = {*_words(program, len(program)), *ops, *((flag, True) for flag in FLAGS)}
    return frozenset(clause for clause in among if any(_holds(clause, program, each) for each in places))


def naming(clauses: Iterable[Clause]) -> frozenset[Clause]:
    """The clauses that name a case."""
    return frozenset((key, value) for key, value in clauses if key not in OUTCOMES and KEYS[key].names_the_case(value))


def _holds(clause: Clause, program: Program, violation: Violation) -> bool:
    key, value = clause
    fields = {"op": violation.op, key: value}
    op = fields.pop("op")
    return CONDITIONS[key](Known("", op, "", program, **fields), program, violation)  # type: ignore[arg-type]


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
    """`after` clauses for all instructions before instruction `at`."""
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
