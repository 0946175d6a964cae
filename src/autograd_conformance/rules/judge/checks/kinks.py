"""Kinks and ties: whether an op that has no derivative at its operands has the same gradient in another run.

A gradient at a kink is a convention, and no reference is right about it. But a mode, such as a compiler, should keep
the convention of its framework, and a dtype that of another one. Programs are compared if all numbers are finite in
the other run: infinity times zero is NaN in some ways of computing a gradient, and zero in others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from autograd_conformance.ops.catalogue import row_of
from autograd_conformance.programs import slugs
from autograd_conformance.programs.dtypes import DTYPES
from autograd_conformance.programs.language import Apply, Program, Ref
from autograd_conformance.programs.observations import Observation, Raised, is_inconclusive
from autograd_conformance.programs.own_numpy import np
from autograd_conformance.reference.domains import is_smooth
from autograd_conformance.reference.staging.derivatives import Array, array
from autograd_conformance.rules.judge.checks.elements import lone_op, observed
from autograd_conformance.rules.judge.state import Judging
from autograd_conformance.rules.violations.expected import SameElsewhere
from autograd_conformance.rules.violations.observed import DiffersFromRun
from autograd_conformance.rules.violations.violation import Allowed, Violation

RULE = slugs.GRADIENTS_KINKS

OtherRuns: TypeAlias = Callable[[Program], Iterable[tuple[str, Observation]]]
"""A function that runs a program in other ways, and yields a description of each, such as ``without torch.compile``,
with what was observed.
"""

ANY_OF_EQUALS = frozenset({"kthvalue", "median", "median_dim", "nanmedian", "quantile", "sort", "topk"})
"""The ops that may take any of equal elements, and so give the gradient to any of them."""

POLE = 1e6
"""Numbers beyond this are what rounding leaves of a pole."""

ILL_CONDITIONED = ("complex numbers", "decompositions", "linalg")
"""The families of ops whose results, outside of the ops' domains, consist of rounding errors."""


def no_other_runs(program: Program) -> Iterable[tuple[str, Observation]]:
    """Runs a program in no other way."""
    return ()


def keeps_convention(op: str) -> bool:
    """Whether an op's gradient at a kink or a tie is a convention that other runs can keep."""
    row = row_of(op)
    return op not in ANY_OF_EQUALS and row.family not in ILL_CONDITIONED and row.draws is None


def judge_kinks(judging: Judging, observation: Observation, others: OtherRuns) -> Violation | None:
    """Judges a program that is an op on leaves, where the op is not smooth, and a call, and nothing else. Returns the
    violation if an element of the result or of a gradient differs from that in another run, which has only finite
    numbers, by more than half of the digits of their dtype.
    """
    lone = lone_op(judging.program)
    if lone is None or not keeps_convention(lone[1].op) or not judging.applies(RULE):
        return None
    literals, step, call = lone
    root = Ref(len(literals))
    values = {Ref(at): array(literal) for at, literal in enumerate(literals)}
    if is_smooth(step, values) or _is_beyond_strict_domain(step, values):
        return None
    scale = max(map(abs, call.cotangents[0].data), default=0.0) if call.cotangents[0] is not None else 1.0
    found = {name: (at, ref, value) for at, name, ref, value in observed(observation, call, root)}
    for words, other in others(judging.program):
        if is_inconclusive(*observation, *other) or any(isinstance(each.outcome, Raised) for each in other):
            continue
        given = [(name, wanted) for _, name, _, wanted in observed(other, call, root)]
        if not all((np.abs(wanted) < POLE).all() for _, wanted in given):
            continue
        for name, wanted in given:
            if name not in found or not wanted.size or found[name][2].shape != wanted.shape:
                continue
            judging.exercise((RULE,))
            at, ref, value = found[name]
            place = _difference(value.ravel(), wanted.ravel(), scale)
            if place is not None:
                numbers = float(value.ravel()[place]), float(wanted.ravel()[place])
                expected = SameElsewhere(words, numbers[1])
                difference = DiffersFromRun(name, place, numbers[0])
                return Violation(RULE, at, difference, (Allowed(expected, RULE),), ref, step.op)
    return None


def _is_beyond_strict_domain(step: Apply, values: Mapping[Ref, Array]) -> bool:
    """Whether an operand is finite and where the op's numbers say nothing, which is no kink."""
    domains = [(row_of(step.op).domain(k), values[ref]) for k, ref in enumerate(step.args)]
    return any(domain.is_strict and np.isfinite(x).all() and not domain.holds(x) for domain, x in domains)


def _difference(value: np.ndarray, wanted: np.ndarray, scale: float) -> int | None:
    """Returns the position of an element that differs from the wanted one by half of the digits of `scale`, or of the
    largest element; None if there is none.
    """
    if value.dtype.kind != wanted.dtype.kind or value.dtype.name not in DTYPES:
        return None
    near = np.sqrt(max(DTYPES[each.dtype.name].epsilon for each in (value, wanted)))
    value, wanted = value.astype("float64"), wanted.astype("float64")
    differs = ~(np.abs(value - wanted) <= near * np.abs(wanted).max(initial=scale))
    return int(np.argmax(differs)) if differs.any() else None
