"""The value or leaf that a violation is about: its size, its dtype, and how far it is off."""

from __future__ import annotations

from math import prod

from autograd_conformance.known_differences.entry import Known
from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.programs.language import Apply, Detach, Leaf, Program, Ref, Shape
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.rounding.bounds import working_dtype
from autograd_conformance.rules.violations.observed import RaisedError
from autograd_conformance.rules.violations.shared import ResultShape
from autograd_conformance.rules.violations.violation import Violation


def elements(program: Program, about: Ref | None, violation: Violation) -> int | None:
    """Number of elements of the value that a violation is about; None if unknown."""
    shape = shape_of(program, about, violation)
    return None if shape is None else prod(shape)


def dimensions(program: Program, about: Ref | None, violation: Violation) -> int | None:
    """Number of dimensions of the value that a violation is about; None if unknown."""
    shape = shape_of(program, about, violation)
    return None if shape is None else len(shape)


def shape_of(program: Program, about: Ref | None, violation: Violation) -> Shape | None:
    """Shape of the leaf or of the expected value; for an error, the shape of the value that the error is about."""
    if about is not None and isinstance(leaf := program[about.at], Leaf):
        return leaf.value.shape
    if violation.want is not None:
        return violation.want.shape
    if about is not None and isinstance(violation.observed, RaisedError):
        return Reference(program).values[about].shape
    return next(
        (allowed.expected.shape for allowed in violation.allowed if isinstance(allowed.expected, ResultShape)), None
    )


def dtypes(program: Program, subject: Ref | None) -> set[str | None]:
    """The dtype in which a program computes, and the dtype of the value that a violation is about."""
    return {working_dtype(program), None if subject is None else _dtype(program, subject)}


def _dtype(program: Program, ref: Ref) -> str | None:
    """Dtype of a value; None if the program alone does not determine it, as for an op on operands of several dtypes."""
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


def is_within_limits(entry: Known, violation: Violation) -> bool:
    """Whether a wrong value is within the limits of an entry. If no values were compared, whether the entry has no
    limits.
    """
    got, want = violation.got, violation.want
    if entry.any_value:
        return True
    if got is None or want is None:
        return not (entry.limited or entry.nan)
    if got.shape != want.shape:
        return False
    nan = np.isnan(got) if entry.nan else np.zeros(got.shape, bool)
    if entry.nan and not nan.any():
        return False
    if entry.limited:
        allowed = (entry.relative or 0.0) * np.abs(want).max(initial=0.0) + (entry.absolute or 0.0)
    else:
        allowed = 0.0 if violation.bound is None or not entry.nan else violation.bound
    return bool((nan | (np.abs(got - want) <= allowed)).all())


def wrong_elements(violation: Violation) -> int:
    """Number of elements that differ from the expected value by more than rounding."""
    got, want = violation.got, violation.want
    if got is None or want is None or got.shape != want.shape:
        return 0
    return int((~(np.abs(got - want) <= (0.0 if violation.bound is None else violation.bound))).sum())
