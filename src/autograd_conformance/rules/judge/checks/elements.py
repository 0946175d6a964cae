"""Elements: whether an elementwise op gives equal elements equal results and gradients.

Kernels compute most elements in groups, and the last ones alone. Both ways have to agree also where an element is NaN,
infinite or at a kink, so that the answer for a number does not depend on its place. No reference is needed.
"""

from __future__ import annotations

from collections.abc import Iterator

from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.programs import slugs
from autograd_conformance.programs.dtypes import DTYPES
from autograd_conformance.programs.language import (
    Apply,
    Attrs,
    Backward,
    BackwardCall,
    Grad,
    Leaf,
    Literal,
    Program,
    Ref,
)
from autograd_conformance.programs.observations import Observation, Returned
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.rules.judge.state import Judging
from autograd_conformance.rules.violations.expected import EqualElements
from autograd_conformance.rules.violations.observed import UnequalElements
from autograd_conformance.rules.violations.violation import Allowed, Violation

RULE = slugs.GRADIENTS_ELEMENTS

ELEMENTWISE = ("elementwise", "activations", "binary")
"""The families of ops that compute each element of the result from the operands' elements at its place."""

OPERANDS = ("first", "second", "third", "fourth", "fifth", "sixth")
"""The words for the places of operands; no op whose elements are compared has more."""


def judge_elements(judging: Judging, observation: Observation) -> Violation | None:
    """Judges a program that is an elementwise op on leaves of one shape, and a call, and nothing else. Returns the
    violation if elements differ by more than half of the digits of their dtype where all operands and the cotangent
    are equal, or if only one of them is NaN or infinite.
    """
    found = lone_op(judging.program)
    if found is None:
        return None
    literals, step, call = found
    root, given = Ref(len(literals)), call.cotangents[0]
    if not is_elementwise(step.op, step.attrs) or given is None:
        return None
    if len({literal.shape for literal in (*literals, given)}) > 1 or not judging.applies(RULE):
        return None
    groups = [places for places in _equal([*literals, given]) if len(places) > 1]
    if not groups:
        return None
    judging.exercise((RULE,))
    near = np.sqrt(DTYPES[judging.dtype].epsilon)
    for at, name, ref, value in observed(observation, call, root):
        for places in groups if value.shape == given.shape else ():
            unequal = _difference(value.ravel(), places, near)
            if unequal is not None:
                difference = UnequalElements(name, *unequal)
                return Violation(RULE, at, difference, (Allowed(EqualElements(), RULE),), ref, step.op)
    return None


def lone_op(program: Program) -> tuple[list[Literal], Apply, BackwardCall] | None:
    """Returns the operands, the op and the call of a program that is an op on leaves, and a call from its only result,
    and nothing else; None for other programs.
    """
    match program.instructions:
        case (Leaf(), *_, Apply() as step, Backward() | Grad() as call):
            leaves = program.instructions[:-2]
            literals = [leaf.value for leaf in leaves if isinstance(leaf, Leaf)]
            operands, root = tuple(Ref(at) for at in range(len(leaves))), Ref(len(leaves))
            is_whole = step.args == operands and call.roots == (root,) and len(literals) == len(leaves)
            return (literals, step, call) if is_whole else None
        case _:
            return None


def is_elementwise(op: str, attrs: Attrs) -> bool:
    """Whether an op computes each element from the operands' elements at its place, by the same rule for each."""
    return row_of(op).family in ELEMENTWISE and not any(isinstance(value, tuple) for _, value in attrs)


def _equal(literals: list[Literal]) -> list[list[int]]:
    """Returns the positions at which all literals have equal elements, in groups; NaN equals NaN."""
    groups: dict[tuple[str, ...], list[int]] = {}
    for at, numbers in enumerate(zip(*(literal.data for literal in literals), strict=True)):
        groups.setdefault(tuple(map(repr, numbers)), []).append(at)
    return list(groups.values())


def observed(observation: Observation, call: BackwardCall, root: Ref) -> Iterator[tuple[int, str, Ref, np.ndarray]]:
    """Yields the result and the gradient of each operand: the instruction that shows it, its name, the value that it
    belongs to, and its elements.
    """
    made = observation[root.at].outcome
    if isinstance(made, Returned) and made.values[0] is not None:
        yield root.at, "the result", root, made.values[0].value
    for operand, subject, value in observed_gradients(observation, call):
        if operand.at < min(root.at, len(OPERANDS)):
            yield root.at + 1, f"the gradient of the {OPERANDS[operand.at]} operand", subject, value


def observed_gradients(observation: Observation, call: BackwardCall) -> Iterator[tuple[Ref, Ref, np.ndarray]]:
    """Yields each gradient that a program's last instruction, a call, gave: the value that it is the gradient of, the
    value that holds it or is it, and its elements.
    """
    called = observation[-1]
    if isinstance(call, Grad) and isinstance(called.outcome, Returned):
        for place, (ref, tensor) in enumerate(zip(call.inputs, called.outcome.values, strict=True)):
            if tensor is not None:
                yield ref, Ref(len(observation) - 1, place), tensor.value
    if isinstance(call, Backward):
        yield from ((ref, ref, held.value) for ref, held in called.gradients.items() if held is not None)


def _difference(
    value: np.ndarray, places: list[int], near: float
) -> tuple[tuple[int, int], tuple[float, float]] | None:
    """Returns two of some positions, with their elements, that differ by more than the part `near`; None if all are
    alike.
    """
    elements = value[places]
    first = elements[0]
    distance = near * np.abs(first) if value.dtype.kind == "f" else 0
    with np.errstate(invalid="ignore"):
        alike = (elements == first) | (np.abs(elements - first) <= distance) | (np.isnan(elements) & np.isnan(first))
    if np.isinf(first):
        alike = elements == first
    other = int(np.argmin(alike))
    return None if alike.all() else ((places[0], places[other]), (float(first), float(elements[other])))
