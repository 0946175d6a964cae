"""Makes the signature of a violation: what is wrong, as data that is equal in all failures of one fault, whatever their
programs, ops and tests are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from autograd_conformance.checking.error_size import error_size
from autograd_conformance.checking.meanings import (
    ending_meaning,
    error_meaning,
    gradient_meaning,
    number_meaning,
    shape_meaning,
    write_meaning,
)
from autograd_conformance.checking.messages import is_generic, normalised, without_context
from autograd_conformance.ops.catalogue import ROWS
from autograd_conformance.ops.forms import base_form
from autograd_conformance.programs.language import (
    INSTRUCTIONS,
    Apply,
    Backward,
    BackwardCall,
    Grad,
    InPlace,
    Leaf,
    Program,
    Ref,
    Shape,
    Step,
    ZeroGrad,
)
from autograd_conformance.programs.observations import Kind, Raised
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reporting.records.failure import ENDING, Signature
from autograd_conformance.rules.violations.behaviour import Expected
from autograd_conformance.rules.violations.expected import ExpectedError
from autograd_conformance.rules.violations.observed import (
    HoldsGradient,
    ImpossibleSample,
    OtherGradient,
    OtherMove,
    OtherValue,
    RaisedError,
    ReturnedUnexpectedly,
    SavedTensorCount,
    ValueMemory,
)
from autograd_conformance.rules.violations.pairs import CallFailed, OutcomesDiffer, SumsDiffer, ValuesDiffer
from autograd_conformance.rules.violations.shared import (
    Flag,
    GradientForm,
    NoGradient,
    ResultDtype,
    ResultShape,
    Strides,
)
from autograd_conformance.rules.violations.violation import Violation

NAN_AT_ZERO = "NaN where an operand is 0"
"""The pattern of numbers that are NaN, and must not be, at operands of 0 only. Ops share it: they divide by 0, or
multiply an infinite number by 0."""

PER_OP = ("modified in place", "leaf written in place", "view may not be written", "overlapping memory written")
"""Kinds of errors that each op checks for separately: if one op does not raise, other ops may still do so."""


class _Difference(NamedTuple):
    """The parts of a signature that depend on the behaviours."""

    got: str | None
    want: str | None
    general: bool


def signature_of(program: Program, violation: Violation) -> Signature:
    """Returns the signature of a violation of a program."""
    difference = _difference(program, violation)
    return Signature(
        stage=INSTRUCTIONS[type(program[violation.at])].word,
        general=difference.general,
        got=difference.got,
        want=difference.want,
        diagnosis=None if violation.diagnosis is None else violation.diagnosis.kind.name.lower().replace("_", " "),
        meaning=_meaning(program, violation),
    )


def signature_of_ending(program: Program, op: str | None) -> Signature:
    """Returns the signature of a program that ended its process, or did not come back. Where no op is to blame, the
    kinds of its instructions beside ops and calls show what it has in common with others.
    """
    kinds = _special(program, len(program)) if op is None else None
    return Signature(stage=ENDING, general=kinds is not None, got=kinds, meaning=ending_meaning(program, op))


def _meaning(program: Program, violation: Violation) -> str | None:
    """Returns what is wrong in the words of the suite; None if that is not known."""
    match violation.observed:
        case RaisedError(Kind.UNKNOWN, _, message):
            ops = _ops_at(program, violation)
            return error_meaning(program, violation.at, ops[0] if len(ops) == 1 else None, message)
        case OtherValue() if (unchanged := write_meaning(program, violation.at, violation.got)) is not None:
            return unchanged
        case OtherValue() | OtherGradient() | OtherMove():
            return number_meaning(error_size(program, violation))
        case ResultShape(got) | GradientForm(got, _):
            expected = (each.expected for each in violation.allowed)
            want = next((each.shape for each in expected if isinstance(each, (ResultShape, GradientForm))), None)
            of_gradient = isinstance(violation.observed, GradientForm)
            return None if want is None else (gradient_meaning if of_gradient else shape_meaning)(got, want)
        case _:
            return None


def base_of(program: Program) -> str | None:
    """Returns the op of which all ops of a program are forms; None if they are of several functions."""
    bases = {base_form(op) for op in _ops(program)}
    return bases.pop() if len(bases) == 1 else None


def _difference(program: Program, violation: Violation) -> _Difference:
    """Returns what was observed and what is allowed, without what depends on the op or the program."""
    expected = tuple(each.expected for each in violation.allowed)
    match violation.observed:
        case ResultShape(shape):
            return _shapes(shape, next((each.shape for each in expected if isinstance(each, ResultShape)), None))
        case GradientForm(shape, dtype):
            return _forms(shape, dtype, expected)
        case ResultDtype(dtype):
            return _Difference(dtype, _first(expected, ResultDtype, "dtype"), True)
        case Flag(requires):
            return _Difference(f"requires grad: {requires}", None, True)
        case RaisedError(kind, type_, message):
            is_step = isinstance(program[violation.at], Step)
            ops = () if is_step else _ops_at(program, violation)
            return _error(f"{kind.value} ({type_})", message, ops, is_located=is_step)
        case CallFailed(_, _, outcome) if isinstance(outcome, Raised):
            return _error(f"{outcome.kind.value} ({outcome.type})", outcome.message, _ops(program))
        case ReturnedUnexpectedly():
            kind_ = next((each.kind.value for each in expected if isinstance(each, ExpectedError)), None)
            return _Difference(None, kind_, kind_ not in PER_OP)
        case OtherValue() | OtherGradient() | OtherMove() | ImpossibleSample():
            pattern = _pattern(program, violation)
            return _Difference(pattern, None, pattern == NAN_AT_ZERO)
        case ValuesDiffer() | SumsDiffer() | OutcomesDiffer() | CallFailed() | HoldsGradient() | SavedTensorCount():
            return _Difference(None, None, False)
        case Strides():
            return _Difference(None, None, False)
        case ValueMemory(_, of_gradient):
            return _Difference("memory of a gradient" if of_gradient else "memory of a value", None, True)
        case NoGradient():
            return _Difference(_special(program, violation.at), None, True)
        case _:  # the kind of difference says it all
            return _Difference(None, None, True)


def _special(program: Program, at: int) -> str | None:
    """Returns the kinds of the instructions before a failing one that are no plain ops and calls: a gradient may be
    missing because of each of them. None if there are none.
    """
    found = set()
    for step in program.instructions[:at]:
        if isinstance(step, BackwardCall) and step.create_graph:
            found.add("create_graph")
        elif not isinstance(step, (Leaf, Apply, Backward, Grad, ZeroGrad)):
            found.add(INSTRUCTIONS[type(step)].word)
    return ", ".join(sorted(found)) or None


def _first(expected: Sequence[Expected], of: type, field: str) -> str | None:
    return next((str(getattr(each, field)) for each in expected if isinstance(each, of)), None)


# -- shapes -----------------------------------------------------------------------------------------------------------


def _shapes(got: Shape, want: Shape | None) -> _Difference:
    """Returns the difference of two shapes. Ops share a fault if the shapes differ by dimensions of length 1 alone; a
    single number is named as such.
    """
    if want is None:
        return _Difference(str(got), None, False)
    if sorted(x for x in got if x != 1) != sorted(x for x in want if x != 1) or len(got) == len(want):
        return _Difference(str(got), str(want), False)
    if not got:
        return _Difference(str(got), "dimensions of length 1", True)
    if not want:
        return _Difference(str(got), str(want), True)
    more = len(got) - len(want)
    return _Difference(f"{abs(more)} {'more' if more > 0 else 'fewer'} of length 1", None, True)


def _forms(shape: Shape, dtype: str, expected: Sequence[Expected]) -> _Difference:
    """Returns the difference of the shapes and dtypes of two gradients: that of the shapes, if these differ."""
    form = next((each for each in expected if isinstance(each, GradientForm)), None)
    if form is None or form.shape != shape:
        return _shapes(shape, None if form is None else form.shape)
    return _Difference(dtype, form.dtype, True)


# -- errors -----------------------------------------------------------------------------------------------------------


def _error(kind: str, message: str, ops: Sequence[str], is_located: bool = False) -> _Difference:
    """Returns an error by its kind and its message without numbers, shapes and the names of the failing ops. A message
    of Python or NumPy may come from anywhere, unless the framework adds where: that note is then a part of the error.
    """
    bare, ops = without_context(message), (*ops, *map(base_form, ops), *_function_named(message))
    if is_generic(bare) and not is_located:
        return _Difference(f"{kind}: {normalised(message, ())}", None, bare != message.strip())
    return _Difference(f"{kind}: {normalised(bare, ops)}", None, True)


def _function_named(message: str) -> tuple[str, ...]:
    """Returns the op that a message names in front of a colon: the function that raised it, which others call."""
    first, colon, _ = message.strip().partition(":")
    return (first,) if colon and first in ROWS else ()


def _ops_at(program: Program, violation: Violation) -> tuple[str, ...]:
    """Returns the op that a violation is about, or else that of its instruction, or else all ops of the program."""
    step = program[violation.at]
    if violation.op is not None:
        return (violation.op,)
    return (step.op,) if isinstance(step, (Apply, InPlace)) else _ops(program)


def _ops(program: Program) -> tuple[str, ...]:
    return tuple(dict.fromkeys(step.op for step in program if isinstance(step, (Apply, InPlace))))


# -- numbers ----------------------------------------------------------------------------------------------------------


def _pattern(program: Program, violation: Violation) -> str | None:
    """Returns what is special about wrong numbers; None if nothing is."""
    got, want = violation.got, violation.want
    if got is None or want is None or got.shape != want.shape:
        return None
    missing = np.isnan(got) & ~np.isnan(want)
    if missing.any():
        operand = _operand(program, violation)
        at_zero = operand is not None and operand.shape == got.shape and not operand[missing].any()
        return NAN_AT_ZERO if at_zero else "NaN"
    if (np.isinf(got) & ~np.isinf(want)).any():
        return "infinite"
    return "zeros" if not got.any() else None


def _operand(program: Program, violation: Violation) -> np.ndarray | None:
    """Returns the elements of the leaf whose gradient is wrong, or of the first leaf that a wrong value was computed
    from; None if there is no such leaf.
    """
    step, subject = program[violation.at], violation.subject
    refs: tuple[Ref, ...] = ()
    match step:
        case Apply():
            refs = step.args[:1]
        case InPlace():
            refs = (step.target,)
        case Backward():
            refs = () if subject is None else (subject,)
        case Grad():
            refs = () if subject is None else step.inputs[subject.output : subject.output + 1]
    made = next((program[ref.at] for ref in refs), None)
    return np.reshape(np.asarray(made.value.data, float), made.value.shape) if isinstance(made, Leaf) else None
