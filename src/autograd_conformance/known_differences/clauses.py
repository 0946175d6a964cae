"""Finds the keys of an entry of known differences that are true of a violation, each with its value: from these
`--update-known` chooses the keys that name the case.

A key names the case if it is true of all programs that broke the rule, and false for some program that kept the rule. A
key that is true of every program that tests the rule names nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

from autograd_conformance.known_differences.condition import Value
from autograd_conformance.known_differences.conditions.outcomes import Returned
from autograd_conformance.known_differences.entry_checks import imagined
from autograd_conformance.known_differences.table import CONDITIONS
from autograd_conformance.programs.language import Program
from autograd_conformance.rules.violations.violation import Violation

Clause: TypeAlias = tuple[str, Value]
"""A key of an entry of known differences and its value, such as ``("makes_view", True)``."""

OUTCOMES = (Returned.key,)
"""Keys for the observed outcome. These narrow an entry and do not separate its case from others, since any violation of
the rule may have the same outcome.
"""


def clauses_of(program: Program, violation: Violation) -> frozenset[Clause]:
    """Returns all clauses, pairs of a key and its value, that an entry for this violation may contain."""
    tried = {(key, value) for key, each in CONDITIONS.items() for value in each.values_of(program, violation)}
    return holding(tried, program, violation)


def holding(clauses: Iterable[Clause], program: Program, violation: Violation) -> frozenset[Clause]:
    """Returns those of the given clauses that are true of a violation."""
    return frozenset(clause for clause in clauses if _holds(clause, program, violation))


def in_common(
    program: Program, regions: Mapping[int, tuple[int, ...]], among: Collection[Clause] | None
) -> frozenset[Clause]:
    """Returns the clauses that are true at some instruction of a program which broke no rule: of all clauses that
    `--update-known` tries, or of those in `among`.
    """
    places = [each.in_regions(regions) for each in imagined(program)]
    if among is None:
        among = {(key, value) for key, each in CONDITIONS.items() for value in each.values_in(program)}
    conditions = {(key, value): CONDITIONS[key](value) for key, value in among}
    return frozenset(
        clause
        for clause, condition in conditions.items()
        if any(condition.holds(program, each, each.op) for each in places)
    )


def naming(clauses: Iterable[Clause]) -> frozenset[Clause]:
    """Returns those of the given clauses that separate a case from other violations of the same rule."""
    return frozenset(
        (key, value) for key, value in clauses if key not in OUTCOMES and CONDITIONS[key](value).names_case
    )


def _holds(clause: Clause, program: Program, violation: Violation) -> bool:
    key, value = clause
    return CONDITIONS[key](value).holds(program, violation, violation.op)
