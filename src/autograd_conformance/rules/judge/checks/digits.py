"""Digits: whether an op in a dtype of few digits is about as accurate as one that computes in float32 and rounds once.

The usual bound allows a kernel to round at every step, which in bfloat16 may cost all digits of a derivative. This
check says where half of them are lost, beyond the errors of a computation in float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from autograd_conformance.programs import slugs
from autograd_conformance.programs.dtypes import COARSE, DTYPES
from autograd_conformance.programs.language import Apply, BackwardCall, Grad, Leaf, Literal, Program, Ref
from autograd_conformance.programs.observations import Observation, Returned
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.reference import Reference
from autograd_conformance.reference.rounding.bounds import Bound, forward_bound, gradient_bound
from autograd_conformance.rules.judge.checks.elements import is_elementwise, observed_gradients
from autograd_conformance.rules.judge.checks.lone_ops import is_lone_op
from autograd_conformance.rules.judge.state import Judging
from autograd_conformance.rules.violations.expected import DefinedValue, RightGradient
from autograd_conformance.rules.violations.observed import OtherGradient, OtherValue
from autograd_conformance.rules.violations.shared import Place
from autograd_conformance.rules.violations.violation import Allowed, Violation

RULE = slugs.GRADIENTS_DIGITS

WIDE = "float32"
"""The dtype in which a kernel may compute before it rounds once."""


def judge_digits(judging: Judging, observation: Observation) -> Violation | None:
    """Judges a program that is one op on distinct leaves of one dtype of few digits, and a call, and nothing else.
    Returns the violation if a result or a gradient has lost more than half of its digits.
    """
    if not is_lone_op(judging.program) or judging.dtype not in COARSE or not judging.applies(RULE):
        return None
    program = _widened(judging.program)
    reference = Reference(program, judging.reference.traits)
    if reference.unspecified or reference.is_outside_domains:
        return None
    judging.exercise((RULE,))
    for got, bound, violation in _compared(reference, program, observation):
        allowed = _allowed(got, bound, judging.dtype)
        if allowed is not None:
            return replace(violation, got=got, want=bound.exact, bound=allowed)
    return None


def _widened(program: Program) -> Program:
    """Returns a program with the same numbers in float32."""

    def wide(value: Literal) -> Literal:
        return replace(value, dtype=WIDE)

    *leaves, step, call = program.instructions
    assert isinstance(call, BackwardCall)
    literals = [replace(leaf, value=wide(leaf.value)) for leaf in leaves if isinstance(leaf, Leaf)]
    cotangents = tuple(None if given is None else wide(given) for given in call.cotangents)
    return Program((*literals, step, replace(call, cotangents=cotangents)))


def _compared(
    reference: Reference, program: Program, observation: Observation
) -> Iterator[tuple[np.ndarray, Bound, Violation]]:
    """Yields the results and the gradients that were observed, each with the bound of a computation in float32, and the
    violation, without numbers, in case it is not within that bound.
    """
    (step, call), at = program.instructions[-2:], len(program) - 2
    made, called = observation[-2].outcome, observation[-1].outcome
    if not isinstance(step, Apply) or not isinstance(made, Returned) or not isinstance(called, Returned):
        return
    for place, tensor in enumerate(made.values):
        ref = Ref(at, place)
        if tensor is not None:
            violation = Violation(RULE, at, OtherValue(), (Allowed(DefinedValue(), RULE),), ref, step.op)
            yield tensor.value, forward_bound(reference, ref, WIDE), violation
    assert isinstance(call, BackwardCall)
    where = Place.RESULT if isinstance(call, Grad) else Place.LEAF
    values, contributions = reference.values, reference.pullbacks.of(call)
    for ref, subject, gradient in observed_gradients(observation, call):
        if ref.at >= at or ref not in contributions:
            continue
        if not _is_sum(step, np.asarray(values[ref]), np.asarray(values[Ref(at)])):
            allowed = (Allowed(RightGradient(where), RULE),)
            violation = Violation(RULE, at + 1, OtherGradient(where), allowed, subject, step.op)
            yield gradient, gradient_bound(reference, call, ref, WIDE), violation


def _is_sum(step: Apply, operand: np.ndarray, result: np.ndarray) -> bool:
    """Whether the gradient of an operand is a sum over the places to which an elementwise op broadcasts it. Each term
    is rounded before, and terms may cancel each other.
    """
    return is_elementwise(step.op, step.attrs) and operand.shape != result.shape


def _allowed(got: np.ndarray, bound: Bound, dtype: str) -> np.ndarray | None:
    """Returns how far each element may be from the exact one, if some element is farther; None if all are within
    that, or nothing is judged. Elements that the dtype cannot represent are not judged.
    """
    want, limits = bound.exact, DTYPES[dtype]
    if got.shape != want.shape or not got.size:
        return None
    is_judged = np.abs(want) < limits.huge
    distance = np.where(is_judged, np.abs(got - want), 0.0)
    half = np.sqrt(limits.epsilon) * np.where(is_judged, np.abs(want), 0.0).max() + limits.tiny
    if (distance <= half).all():
        return None
    allowed = np.where(is_judged, half + bound.array(want.shape), np.inf)
    return None if not np.isfinite(allowed[is_judged]).all() or (distance <= allowed).all() else allowed
