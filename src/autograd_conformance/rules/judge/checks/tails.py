"""Gradients far from ordinary numbers: where an op's result rounds to a constant, or near a removable singularity, the
bound on rounding errors allows any gradient, although a stable formula has its digits.
"""

from __future__ import annotations

from autograd_conformance.programs import slugs
from autograd_conformance.programs.dtypes import DTYPES
from autograd_conformance.programs.language import Apply, Backward, BackwardCall, Grad, Leaf, Literal, Ref
from autograd_conformance.programs.observations import Observation, Returned
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.exact import FIRST, derivative
from autograd_conformance.rules.judge.state import Judging
from autograd_conformance.rules.violations.expected import RightGradient
from autograd_conformance.rules.violations.observed import OtherGradient
from autograd_conformance.rules.violations.shared import Place
from autograd_conformance.rules.violations.violation import Allowed, Violation

RULE = slugs.GRADIENTS_TAILS

NEAR, FAR = 1e-3, 8.0
"""Numbers between these absolute values are ordinary: the usual bound is narrow there, and nothing more is judged."""

STEPS = 8
"""Number of roundings of the operand that a right gradient may suffer."""


def judge_tail(judging: Judging, observation: Observation) -> Violation | None:
    """Judges a program that is the first or second derivative of a function of one number, and nothing else. Returns
    the violation if the derivative has fewer than half of the digits of its dtype somewhere in the function's tails.
    """
    match judging.program.instructions:
        case (Leaf(operand), Apply(op=op, args=(Ref(0, 0),), attrs=()), Backward() | Grad() as call):
            calls: tuple[BackwardCall, ...] = (call,)
        case (
            Leaf(operand),
            Apply(op=op, args=(Ref(0, 0),), attrs=()),
            Grad(create_graph=True, inputs=(Ref(0, 0),)) as first,
            Backward() | Grad() as call,
        ):
            calls = (first, call)
        case _:
            return None
    whole = all(each.roots == (Ref(at),) for at, each in enumerate(calls, 1))
    whole = whole and all(each.inputs in (None, (Ref(0),)) for each in calls)
    got = _derivative(observation, calls[-1])
    if op not in FIRST or operand.dtype not in DTYPES or not whole or got is None or not judging.applies(RULE):
        return None
    bound = _bound(op, operand, calls)
    if bound is None or got.shape != operand.shape:
        return None
    judging.exercise((RULE,))
    want, allowed = bound
    judged = np.isfinite(allowed)
    want = np.where(judged, want, got)
    if (np.abs(got - want)[judged] <= allowed[judged]).all():
        return None
    is_held = isinstance(calls[-1], Backward)
    place, subject = (Place.LEAF, Ref(0)) if is_held else (Place.RESULT, Ref(1 + len(calls)))
    return Violation(
        RULE, 1 + len(calls), OtherGradient(place), (Allowed(RightGradient(place), RULE),), subject, op,
        got=got, want=want, bound=allowed,
    )  # fmt: skip


def _derivative(observation: Observation, call: BackwardCall) -> np.ndarray | None:
    """Returns what the last call gave for the leaf, its accumulated gradient or its result; None if it gave nothing."""
    last = observation[-1]
    if not isinstance(last.outcome, Returned):
        return None
    if isinstance(call, Backward):
        held = last.gradients.get(Ref(0))
        return None if held is None else held.value
    return next((tensor.value for tensor in last.outcome.values if tensor is not None), None)


def _bound(op: str, operand: Literal, calls: tuple[BackwardCall, ...]) -> tuple[np.ndarray, np.ndarray] | None:
    """Returns the exact derivatives, and how far each may be off: infinitely where nothing is judged. None if nothing
    is judged at all, or a derivative is infinite.
    """
    order, dtype = len(calls), DTYPES[operand.dtype]
    weights = np.ones(len(operand.data))
    for call in calls:
        given = call.cotangents[0]
        weights = weights * (1.0 if given is None else np.asarray(given.data))
    want, allowed = np.zeros(len(operand.data)), np.full(len(operand.data), np.inf)
    for k, (number, weight) in enumerate(zip(operand.data, weights.tolist(), strict=True)):
        if NEAR <= abs(number) <= FAR and abs(abs(number) - 1) >= NEAR:
            continue
        exact, change = derivative(op, number, order) * weight, derivative(op, number, order + 1) * weight
        if not np.isfinite(exact):
            return None  # in forward mode, infinity times a zero of the tangent is NaN at all elements
        if np.isfinite(change) and 4 * dtype.tiny < abs(exact) < dtype.largest / 4:
            want[k] = exact
            allowed[k] = np.sqrt(dtype.epsilon) * abs(exact) + STEPS * dtype.epsilon * abs(number * change)
    if not np.isfinite(allowed).any():
        return None
    return want.reshape(operand.shape), allowed.reshape(operand.shape)
