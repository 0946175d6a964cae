"""Conditions that compute all values of the program, which makes these the most expensive conditions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from autograd_conformance.known_differences.condition import ProgramFlag
from autograd_conformance.known_differences.conditions.calls import CALLS
from autograd_conformance.ops.tables import VIEWS
from autograd_conformance.programs.language import Apply, Program, Ref
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.reference import Reference
from autograd_conformance.rules.violations.violation import Violation


class DuplicateRoot(ProgramFlag):
    """The failing call, or a call before it, has several roots; two of these are equal or may be views of the same
    value, or one is also an input of the call.
    """

    key, old_key, covers_gradients = "duplicate_root", "twice", True

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        before = program.instructions[: violation.at + 1]
        calls = [step for step in before if isinstance(step, CALLS) and len(step.roots) > 1]
        if not calls:
            return False
        made = values(program)
        return any(
            not {*call.roots}.isdisjoint(call.inputs or ())
            or len({_base(program, root, made) for root in call.roots}) < len(call.roots)
            for call in calls
        )


class EmptyValue(ProgramFlag):
    """Some value of the program, a leaf or a computed value, has no elements."""

    key, old_key = "empty_value", "empty"

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        return not all(value.size for value in values(program).values())


@lru_cache(maxsize=64)
def values(program: Program) -> Mapping[Ref, np.ndarray]:
    """Returns the right values of a program, which the reference computes; the result is cached because several entries
    need it.
    """
    return MappingProxyType(dict(Reference(program).values))


def _base(program: Program, ref: Ref, made: Mapping[Ref, np.ndarray]) -> Ref:
    """Returns the value that the given value may be a view of, or identical to. An op with one operand may return its
    operand if it has nothing to do, such as a sum over one element.
    """
    step = program[ref.at]
    if not isinstance(step, Apply) or not step.args:
        return ref
    operand = step.args[0]
    alone = len(step.args) == 1 and np.array_equal(np.ravel(made[ref]), np.ravel(made[operand]))
    return _base(program, operand, made) if alone or step.op in VIEWS else ref
