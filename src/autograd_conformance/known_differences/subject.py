"""What a violation is about, as entries ask for it: how large that is, of which dtype, and how far off."""

from __future__ import annotations

from math import prod

from autograd_conformance.known_differences.entry import Known
from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.programs.language import Apply, Detach, Leaf, Program, Ref, Shape
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.rounding.bounds import working_dtype
from autograd_conformance.rules.violations.observed import RaisedError, ResultShape
from autograd_conformance.rules.violations.violation import Violation


def elements(program: Program, about: Ref | None, violation: Violation) -> int | None:
    """How many elements that has which a violation is about, where that is known."""
    shape = shape_of(program, about, violation)
    return None if shape is None else prod(shape)


def dimensions(program: Program, about: Ref | None, violation: Violation) -> int | None:
    """How many dimensions that has which a violation is about, where that is known."""
    shape = shape_of(program, about, violation)
    return None if shape is None else len(shape)


def shape_of(program: Program, about: Ref | None, violation: Violation) -> Shape | None:
    """The shape of the leaf, or of the value that is due; where something raised, of what that is about."""
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
    """The dtype that a program computes in, and that of the value that a violation is about."""
    return {working_dtype(program), None if subject is None else _dtype(program, subject)}


def _dtype(program: Program, ref: Ref) -> str | None:
    """The dtype of a value; none where the program alone does not say it, as for an op on operands of several."""
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
    """Whether a wrong value is within the limits of an entry; where no values were compared, whether it names none."""
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
    """How many elements of a value are wrong: further off than rounding takes them."""
    got, want = violation.got, violation.want
    if got is None or want is None or got.shape != want.shape:
        return 0
    return int((~(np.abs(got - want) <= (0.0 if violation.bound is None else violation.bound))).sum())
