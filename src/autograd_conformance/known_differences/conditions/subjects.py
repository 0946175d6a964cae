"""Conditions on the op at fault, and on the value or leaf that a violation is about: its size, its dtype, and the
number of its wrong elements.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from math import prod

from autograd_conformance.known_differences import readers
from autograd_conformance.known_differences.condition import Count, Outcome, Word
from autograd_conformance.known_differences.conditions.calls import CALLS
from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.programs.dtypes import DTYPES
from autograd_conformance.programs.language import Apply, Detach, InPlace, Leaf, Program, Ref, Shape
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.rounding.bounds import working_dtype
from autograd_conformance.rules.violations.observed import MovedMemory, RaisedError, ValueMemory
from autograd_conformance.rules.violations.shared import Flag, OwnMemory, ResultShape
from autograd_conformance.rules.violations.violation import Violation


class Op(Word):
    """The op whose outcome is wrong, in-place ops included (`add_`). If the violation names no op, any op of the
    program.
    """

    key, expects, covers_gradients = "op", "the name of an op", True
    names_case = True
    read = staticmethod(readers.op)

    @classmethod
    def values_of(cls, program: Program, violation: Violation) -> Iterable[str]:
        return _ops(program, violation)

    @classmethod
    def values_in(cls, program: Program) -> Iterable[str]:
        return {step.op for step in program if isinstance(step, Apply)}

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        return self.value in _ops(program, violation)


class _Size(Count):
    """The base class of conditions on the shape of the value that a violation is about."""

    @staticmethod
    @abstractmethod
    def size(shape: Shape) -> int:
        """Returns the number that the condition compares: the number of elements, or of dimensions, of the shape."""

    @classmethod
    def values_of(cls, program: Program, violation: Violation) -> Iterable[int]:
        shape = _shape(program, violation)
        return () if shape is None else (cls.size(shape),)

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        return self.value in self.values_of(program, violation)


class Elements(_Size):
    """Number of elements of the leaf, or of the wrong value, that the violation is about. If a call raised, the call's
    only root counts; if a write raised, the write's target.
    """

    key = "elements"

    @staticmethod
    def size(shape: Shape) -> int:
        return prod(shape)


class Dimensions(_Size):
    """Number of dimensions of the leaf, or of the wrong value, that the violation is about. If a call raised, the
    call's only root counts; if a write raised, the write's target.
    """

    key = "dimensions"

    @staticmethod
    def size(shape: Shape) -> int:
        return len(shape)


class Dtype(Word):
    """The dtype in which the program computes, or of the value that the violation is about."""

    key, expects = "dtype", " or ".join(DTYPES)
    read = staticmethod(readers.one_of(DTYPES))

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        subject = _subject(program, violation)
        return self.value in {working_dtype(program), None if subject is None else _dtype(program, subject)}


class WrongElements(Count):
    """Largest number of elements of the wrong value or gradient that may be off by more than rounding."""

    key, old_key, outcome = "wrong_elements", "wrong", Outcome.VALUES

    def holds(self, program: Program, violation: Violation, op: str | None) -> bool:
        got, want = violation.got, violation.want
        if got is None or want is None or got.shape != want.shape:
            return True
        bound = 0.0 if violation.bound is None else violation.bound
        return int((~(abs(got - want) <= bound)).sum()) <= self.value


def _ops(program: Program, violation: Violation) -> set[str]:
    """Returns the op that a violation names; without one, all ops that the program applies or writes with."""
    if violation.op:
        return {violation.op}
    return {step.op for step in program if isinstance(step, (Apply, InPlace))}


def _subject(program: Program, violation: Violation) -> Ref | None:
    """Returns the value or leaf that a violation is about. If the violation names none, it is the target of a failing
    write, or the only root of a failing call.
    """
    failing = program[violation.at]
    if violation.subject is not None:
        return violation.subject
    if isinstance(failing, InPlace):
        return failing.target
    return failing.roots[0] if isinstance(failing, CALLS) and len(failing.roots) == 1 else None


def _shape(program: Program, violation: Violation) -> Shape | None:
    """Returns the shape of the leaf or of the expected value; for an error, a flag and a wrong place in memory, the
    shape of the value that it is about.
    """
    subject = _subject(program, violation)
    if subject is not None and isinstance(leaf := program[subject.at], Leaf):
        return leaf.value.shape
    if violation.want is not None:
        return violation.want.shape
    if subject is not None and isinstance(violation.observed, (RaisedError, Flag, OwnMemory, ValueMemory, MovedMemory)):
        return Reference(program).values[subject].shape
    return next(
        (allowed.expected.shape for allowed in violation.allowed if isinstance(allowed.expected, ResultShape)), None
    )


def _dtype(program: Program, ref: Ref) -> str | None:
    """Returns the dtype of a value; None if the program alone does not determine it, as for an op on operands of
    several dtypes.
    """
    found: list[str | None] = []
    for step in program.instructions[: ref.at + 1]:
        match step:
            case Leaf(value):
                found.append(value.dtype)
            case Detach(source):
                found.append(found[source.at])
            case Apply(op, args):
                given = {found[arg.at] for arg in args}
                found.append(row_of(op).dtype or (given.pop() if len(given) == 1 else None))
            case _:
                found.append(None)
    return found[-1]
